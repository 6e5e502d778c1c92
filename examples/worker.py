#!/usr/bin/env python3
"""Takes tasks, one after another: each is claimed for this agent, its payload is given to a command,
and what that prints is the result. While the command runs, the task is extended; when it was lost, or
has ended without this agent, the command is stopped.
worker.py AGENT COMMAND…      (PARLEY_URL: the server, PARLEY_TOKEN: a token, if it asks for one,
                               PARLEY_EXTEND: after how many seconds the task is extended, 60)
"""
import datetime, json, os, subprocess, sys, time, urllib.error, urllib.request, uuid

AGENT, COMMAND = sys.argv[1], sys.argv[2:]
URL = os.environ.get('PARLEY_URL', 'http://localhost:8080') + '/v1/roundtable/'
TOKEN = {'Authorization': f'Bearer {os.environ["PARLEY_TOKEN"]}'} if 'PARLEY_TOKEN' in os.environ else {}
EXTEND_SECONDS = float(os.environ.get('PARLEY_EXTEND', 60))

def post(path, body, headers={}):
    """Repeats until there is an answer: the same message is stored once, the same key gets the same task.
    Returns None where there is no task, or the agent does not hold it any more."""
    headers = {'Content-Type': 'application/json', **TOKEN, **headers}
    while True:
        try:
            request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.loads(response.read() or 'null')
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503, 504):
                problem = json.load(error)
                if problem['type'] in ('/problems/not-holder', '/problems/task-over'):
                    return print(problem['detail'], file=sys.stderr)
                sys.exit(problem['detail'])  # repeating does not help
        except OSError:  # refused, reset or too late
            pass
        time.sleep(1)

def work(task):
    """Returns the output of the command, and its status: None of a task that was lost."""
    program = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    payload = json.dumps(task['payload'])
    while True:
        try:
            return program.communicate(payload, EXTEND_SECONDS)[0], program.returncode
        except subprocess.TimeoutExpired:
            payload = None  # it was given
            if post(f'tasks/{task["id"]}/extend', {'agent': AGENT}) is None:
                program.kill()
                return program.communicate()[0], None


while True:
    taken = post('tasks/next', {'agent': AGENT}, {'Prefer': 'wait=30', 'Idempotency-Key': str(uuid.uuid4())})
    output, status = work(taken['task']) if taken else (None, None)
    if status is not None:
        failed = {'error': 'internal_error', 'retryable': False}
        result = {'status': 'completed', 'result': {'format': 'text', 'content': output}}
        receipt = post('messages', {
            'id': str(uuid.uuid4()), 'version': '1.0', 'type': 'task.failed' if status else 'task.result',
            'from': AGENT, 'to': taken['task']['from'], 'correlationId': taken['task']['id'],
            'timestamp': datetime.datetime.now(datetime.timezone.utc).isoformat(),
            'payload': failed if status else result})
        if receipt:
            print(receipt['type'], receipt['seq'], flush=True)
