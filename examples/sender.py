#!/usr/bin/env python3
"""Sends messages, one JSON a line of standard input, each until parley has stored it.

sender.py [URL] <messages.ndjson      (PARLEY_TOKEN: a token, if the server asks for one)
Exit status: 0 all were stored, 1 some were refused: standard error says why.
"""
import hashlib
import json
import os
import sys
import time
import urllib.error
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else 'http://localhost:8080/v1/vlp/messages'
MAY_BE_REPEATED = (429, 503, 504)  # all other refusals are final


def post(line):
    """Returns the status and the answer; (0, None) without an answer."""
    headers = {
        'Content-Type': 'application/json',
        # The same line is stored once, however often it is sent within the dedupe window.
        'Idempotency-Key': hashlib.sha256(line).hexdigest(),
    }
    if 'PARLEY_TOKEN' in os.environ:
        headers['Authorization'] = 'Bearer ' + os.environ['PARLEY_TOKEN']
    try:
        request = urllib.request.Request(URL, data=line, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except OSError:  # refused, reset or too late: it may have been stored, or not
        return 0, None


def send(line):
    """Returns whether the message was stored."""
    delay = 0.2
    while True:
        status, answer = post(line)
        if status == 200:
            print(answer['stream'], answer['seq'], answer['id'], flush=True)
            return True
        if status and status not in MAY_BE_REPEATED:
            print(answer['detail'], file=sys.stderr)
            for violation in answer.get('violations', []):
                print('   ', violation['path'], violation['hint'], file=sys.stderr)
            return False
        time.sleep(delay)
        delay = min(2 * delay, 10)


stored = [send(line.strip()) for line in sys.stdin.buffer if line.strip()]
sys.exit(0 if all(stored) else 1)
