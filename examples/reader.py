#!/usr/bin/env python3
"""Follows a stream and prints its messages, one a line. It goes on where it was after a restart of
itself, because it keeps the resume token in a file, and after one of the server.

reader.py [URL [FILE]]      (PARLEY_TOKEN: a token, if the server asks for one)
"""
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

URL = sys.argv[1] if len(sys.argv) > 1 else 'http://localhost:8080/v1/vlp/stream'
FILE = sys.argv[2] if len(sys.argv) > 2 else 'resume-token'


def load():
    if not os.path.exists(FILE):
        return 'all'  # the first time
    with open(FILE) as file:
        return file.read()


def save(token):
    with open(FILE + '.new', 'w') as file:
        file.write(token)
    os.replace(FILE + '.new', FILE)  # never half a token


def take(event):
    if not event['type'].startswith('parley.'):
        print(json.dumps(event['data']), flush=True)  # what you do with a message
    elif event['type'] in ('parley.gap', 'parley.foreign', 'parley.end'):
        print(event['type'], event['data'], file=sys.stderr)
    if 'resume' in event:
        save(event['resume'])  # only now: if killed before, it gets the message again


def follow():
    request = urllib.request.Request(URL + '?since=' + urllib.parse.quote(load()))
    if 'PARLEY_TOKEN' in os.environ:
        request.add_header('Authorization', 'Bearer ' + os.environ['PARLEY_TOKEN'])
    with urllib.request.urlopen(request, timeout=40) as response:  # a keep-alive comes every 15 s
        for line in response:
            if line.endswith(b'\n') and line.strip():  # the last line may be cut off
                take(json.loads(line))


while True:
    try:
        follow()
    except urllib.error.HTTPError as error:
        if error.code not in (429, 503):
            sys.exit(json.load(error)['detail'])
    except Exception as error:  # refused, reset, silent
        print(error, file=sys.stderr)
    time.sleep(0.5)
