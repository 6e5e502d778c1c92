#!/usr/bin/env python3
"""Takes tasks, one after another: each is claimed for this agent, its payload is given to a command,
and what that prints is the result.
worker.py AGENT COMMAND…      (PARLEY_URL: the server, PARLEY_TOKEN: a token, if it asks for one)
"""
import datetime, json, os, subprocess, sys, time, urllib.error, urllib.request, uuid

AGENT, COMMAND = sys.argv[1], sys.argv[2:]
URL = os.environ.get('PARLEY_URL', 'http://localhost:8080') + '/v1/roundtable/'
TOKEN = {'Authorization': f'Bearer {os.environ["PARLEY_TOKEN"]}'} if 'PARLEY_TOKEN' in os.environ else {}

def post(path, body, headers={}):
    """Repeats until there is an answer: the same message is stored once, the same key gets the same task."""
    headers = {'Content-Type': 'application/json', **TOKEN, **headers}
    while True:
        try:
            request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.loads(response.read() or 'null')  # nothing: there is no task
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503, 504):
                sys.exit(json.load(error)['detail'])  # repeating does not help
        except OSError:  # refused, reset or too late
            pass
        time.sleep(1)


while True:
    taken = post('tasks/next', {'agent': AGENT}, {'Prefer': 'wait=30', 'Idempotency-Key': str(uuid.uuid4())})
    if taken:
        done = subprocess.run(COMMAND, input=json.dumps(taken['task']['payload']), text=True, stdout=subprocess.PIPE)
        failed = {'error': 'internal_error', 'retryable': False}
        result = {'status': 'completed', 'result': {'format': 'text', 'content': done.stdout}}
        receipt = post('messages', {
            'id': str(uuid.uuid4()), 'version': '1.0', 'type': 'task.failed' if done.returncode else 'task.result',
            'from': AGENT, 'to': taken['task']['from'], 'correlationId': taken['task']['id'],
            'timestamp': datetime.datetime.now(datetime.timezone.utc).isoformat(),
            'payload': failed if done.returncode else result})
        print(receipt['type'], receipt['seq'], flush=True)
