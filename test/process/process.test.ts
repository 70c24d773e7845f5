import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { access, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import {
  startModelServer,
  type ModelAnswer,
  type ModelScript,
  type ModelServer,
  type ModelServerRequest,
} from '../fixtures/model-server.ts'
import { makeFolder, runCommand, serve } from '../fixtures/process.ts'
import { outputOf } from '../fixtures/service-client.ts'

const run = promisify(execFile)

async function scriptedAgent(t: TestContext, folder: string, script: ModelScript, graceSeconds = 0.2): Promise<ModelServer> {
  const model = await startModelServer(script)
  t.after(() => model.close())
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url }
  const config = { llms: { primary }, tools: [{ name: 'calculator' }], limits: { reconnect_grace: graceSeconds } }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify(config))
  return model
}

test('a first start creates all missing files and prints a curl line that works as pasted', async (t) => {
  const folder = await makeFolder(t)
  const service = await serve(t, folder)
  for (const made of ['agent.yaml', 'files/data/sales.csv', '.agent-core/admin.key', '.agent-core/agent-core.db']) {
    await access(path.join(folder, made))
  }
  const keyFile = path.join(folder, '.agent-core/admin.key')
  assert.equal((await stat(keyFile)).mode & 0o777, 0o600)
  const shown = service.stdout()
  assert.ok(!shown.includes((await readFile(keyFile, 'utf8')).trim()))
  assert.match(shown, /Created .*agent\.yaml/)
  const [, pasted] = /Try it:\n([\s\S]*?)\nRead more/.exec(shown) ?? []
  const { stdout } = await run('sh', ['-c', pasted!], { cwd: '/' })
  const { body } = JSON.parse(stdout)
  assert.equal(body.input, 'What were the total sales by region?')
  assert.match(body.output, /North/)
})

test('without --init a start creates no agent: it stops when agent.yaml, or the file named by a variable, is missing', async (t) => {
  const folder = await makeFolder(t)
  const started = async (environment: Record<string, string>) => {
    const { ended, stdout, stderr } = runCommand(t, folder, ['serve'], environment)
    return [await ended, stdout(), stderr()]
  }
  const [code, out, err] = await started({})
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.match(String(err), /^\S+agent\.yaml does not exist\. .*serve --init.*\n$/)
  await writeFile(path.join(folder, 'agent.yaml'), 'name: Mine\n')
  await writeFile(path.join(folder, 'plain.txt'), 'text')
  for (const [name, value] of [
    ['AGENT_CONFIG', 'nope/agent.yaml'],
    ['AGENT_CONFIG', '.'],
    ['FILES_ROOT', 'nope'],
    ['FILES_ROOT', 'plain.txt'],
  ] as const) {
    const [code, out, err] = await started({ [name]: value })
    assert.deepEqual({ code, out }, { code: 1, out: '' }, name)
    assert.match(String(err), new RegExp(`^${name} is "/.+", which .+\\.\\n$`))
    const chat = runCommand(t, folder, ['chat', '--message', 'hello'], { [name]: value })
    assert.equal(await chat.ended, 1)
    assert.match(chat.stderr(), new RegExp(`^${name} is `))
  }
  assert.deepEqual((await readdir(folder)).toSorted(), ['agent.yaml', 'plain.txt'])
})

test('the curl line of a start sends the first question of the configuration, with any characters', async (t) => {
  const folder = await makeFolder(t)
  const tryIt = async (starters: object[]) => {
    await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ conversation_starters: starters }))
    const service = await serve(t, folder)
    const [, pasted] = /Try it:\n([\s\S]*?)\nRead more/.exec(service.stdout()) ?? []
    const { stdout } = await run('sh', ['-c', pasted!], { cwd: '/' })
    service.child.kill('SIGTERM')
    await service.ended
    return JSON.parse(stdout).body.input as string
  }
  const awkward = `What's "7" + $HOME \\ 8?`
  assert.equal(
    await tryIt([
      { title: 'Long', message: 'x'.repeat(500) },
      { title: 'Sum', message: awkward },
    ]),
    awkward,
  )
  assert.equal(await tryIt([]), 'What can you do?')
})

test('a second start on the same data directory is refused in one line', async (t) => {
  const folder = await makeFolder(t)
  await serve(t, folder)
  const second = runCommand(t, folder, ['serve'])
  assert.equal(await second.ended, 1)
  assert.match(second.stderr(), /^Another agent-core is using .*\.agent-core\. .*DATA_DIR.*\n$/)
})

test('bad settings: all problems are listed by name, with exit code 2, and nothing is created', async (t) => {
  const folder = await makeFolder(t)
  const bad = { PORT: '99999', LOG_LEVEL: 'loud', HTTP_BODY_LIMIT: 'much', DATABASE_URL: 'mysql://user:hidden@host/db', WORKERS: '0' }
  const started = runCommand(t, folder, ['serve'], bad)
  assert.equal(await started.ended, 2)
  for (const name of Object.keys(bad)) assert.match(started.stderr(), new RegExp(`^${name} `, 'm'))
  assert.doesNotMatch(started.stderr(), /hidden/)
  assert.equal(started.stdout(), '')
  await assert.rejects(access(path.join(folder, 'agent.yaml')))
})

test('a broken agent.yaml: all faults are listed with path and line, with exit code 2', async (t) => {
  const folder = await makeFolder(t)
  await writeFile(path.join(folder, 'agent.yaml'), 'name: 1\nmax_iterations: 0\ntools:\n  - name: x\n    type: mpc\nnonsense: true\n')
  const started = runCommand(t, folder, ['serve'])
  assert.equal(await started.ended, 2)
  for (const fault of [/:1 name/, /:2 max_iterations/, /:5 tools\[0\]\.type/, /:6 nonsense/]) assert.match(started.stderr(), fault)
})

test('SIGTERM lets a running chat finish, accepts no new chat, and exits with 0', async (t) => {
  const folder = await makeFolder(t)
  const entered = Promise.withResolvers<void>()
  await scriptedAgent(t, folder, () => {
    entered.resolve()
    return { text: ['so', 'on'], delayMs: 300 }
  })
  const { client, child, ended } = await serve(t, folder)
  const chat = client.chat('go')
  await entered.promise
  child.kill('SIGTERM')
  assert.equal((await chat).body.body.output, 'soon')
  assert.equal(await ended, 0)
})

/** Requests a calculation, then answers with the result. */
function calculates({ body }: ModelServerRequest): ModelAnswer {
  const last = body.messages.at(-1)
  if (last.role === 'tool') return { text: `answer to ${body.messages.findLast((one: { role: string }) => one.role === 'user').content}` }
  return { calls: [{ name: 'calculator', arguments: '{"expression":"1+1"}' }] }
}

test('kill -9 under load: every answered chat is stored, no run stays running, every session accepts new chats', async (t) => {
  const folder = await makeFolder(t)
  await scriptedAgent(t, folder, calculates)
  const first = await serve(t, folder)
  const asked: { session: string; request: string; text: string; answered: boolean }[] = []
  const enough = Promise.withResolvers<void>()
  async function load(session: string): Promise<void> {
    for (let turn = 0; ; turn++) {
      const one = { session, request: `${session}-${turn}`, text: `question ${turn}`, answered: false }
      asked.push(one)
      const { status } = await first.client.chat(one.text, { 'session-id': session, 'request-id': one.request })
      assert.equal(status, 200)
      one.answered = true
      if (asked.filter((other) => other.answered).length >= 100) enough.resolve()
    }
  }
  const clients = Array.from({ length: 12 }, (_, at) => load(`s${at}`).catch(() => undefined))
  await enough.promise
  first.child.kill('SIGKILL')
  assert.equal(await first.ended, 'SIGKILL')
  await Promise.all(clients)

  const { client } = await serve(t, folder)
  for (const { session, request, text } of asked.filter((one) => one.answered)) {
    const { messages } = (await client.session(session)).body
    const at = messages.findIndex((message: { role: string; content: string }) => message.role === 'human' && message.content === text)
    assert.equal(messages[at + 1]?.content, `answer to ${text}`, request)
    assert.equal(messages[at + 1]?.response_metadata.request_id, request)
  }
  const interrupted = asked.filter((one) => !one.answered)
  assert.ok(interrupted.length > 0)
  for (const { request } of interrupted) {
    // Follows the rest of the run to the end. A run that was not stored, or whose client did not come back in time, has none.
    const followed = await client.follow(request)
    if (followed.status < 400) await followed.rest()
    const { status, body } = await client.run(request)
    assert.ok(status === 404 || ['success', 'error'].includes(body.status), `${request}: ${status} ${body.status}`)
  }
  for (const { session, request, text } of interrupted) {
    const repeat = await client.chat(text, { 'session-id': session, 'request-id': request })
    assert.deepEqual(
      { status: repeat.status, output: repeat.body.body.output, stepCount: repeat.body.body.intermediate_steps.length },
      { status: 200, output: `answer to ${text}`, stepCount: 1 },
    )
    assert.equal((await client.chat('and now?', { 'session-id': session })).status, 200)
    const { messages } = (await client.session(session)).body
    const humans = messages
      .filter((message: { role: string }) => message.role === 'human')
      .map((message: { content: string }) => message.content)
    assert.equal(new Set(humans).size, humans.length, `${session}: ${humans.join(', ')}`)
    assert.equal(messages.length, humans.length * 2)
  }
})

for (const comeBack of ['repeats its request', 'follows the run'] as const) {
  test(`kill -9: a client that ${comeBack} gets all events after the last checkpoint, without a gap`, async (t) => {
    const folder = await makeFolder(t)
    const silent = Promise.withResolvers<void>()
    let isSilent = true
    // The service waits for returning clients longer than a start may take in this test.
    const model = await scriptedAgent(t, folder, goesSilent, 10)
    function goesSilent(request: ModelServerRequest): ModelAnswer {
      if (!isSilent || request.body.messages.at(-1).role !== 'tool') return calculates(request)
      silent.resolve()
      return { text: ['ans', 'wer'], pauseMs: 5, silentAfter: 3 }
    }
    const first = await serve(t, folder)
    const ids = { 'session-id': 's', 'request-id': 'r' }
    const stream = await first.client.stream('go', ids)
    const got = [await stream.next(), await stream.next(), await stream.next()]
    await silent.promise
    first.child.kill('SIGKILL')
    await first.ended
    await assert.rejects(stream.rest())
    assert.deepEqual(
      got.map((event) => [event?.id, event?.chunk.agent_step]),
      [
        ['r:1', 'tool:calculator'],
        ['r:2', 'tool:calculator'],
        ['r:3', 'answer'],
      ],
    )
    isSilent = false

    const { client } = await serve(t, folder)
    const calls = model.requests.length
    const isRepeat = comeBack === 'repeats its request'
    const events = await (isRepeat ? await client.stream('go', ids) : await client.follow('r', 'r:3')).rest()
    const numbers = events.map(({ id }) => Number(id.slice(2)))
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => numbers[0]! + at),
    )
    // The three chunks came after the checkpoint: the reader learns that the answer starts over.
    if (isRepeat) assert.equal(numbers[0], 1)
    else assert.equal(events[0]?.chunk.agent_step, 'retrying')
    assert.deepEqual(
      { finish_reason: events.at(-1)?.chunk.finish_reason, outputOf: outputOf(events) },
      { finish_reason: 'stop', outputOf: 'answer to go' },
    )
    assert.equal((await client.run('r')).body.outcome.output, 'answer to go')
    // A single additional call: the first turn of the run was not repeated.
    assert.equal(model.requests.length, calls + 1)
    const { messages } = (await client.session('s')).body
    assert.deepEqual(
      messages.map((message: { content: string }) => message.content),
      ['go', 'answer to go'],
    )
  })
}

test('a full disk: a chat that cannot be stored fails, and every answered chat is stored', async (t) => {
  const folder = await makeFolder(t)
  await scriptedAgent(t, folder, calculates)
  // A file size limit of two megabytes acts like a full disk.
  const full = await serve(t, folder, {}, 4096)
  const answered: string[] = []
  let status = 200
  for (let turn = 0; status === 200 && turn < 200; turn++) {
    const session = `s${turn}`
    const reply = await full.client.chat(`${turn} ${'x'.repeat(5000)}`, { 'session-id': session })
    status = reply.status
    if (status === 200) answered.push(session)
    else {
      assert.match(reply.body.body, /^The disk of the database (is full|fails)\.$/)
      assert.deepEqual(reply.body.details, { error_type: 'StoreUnavailable' })
      assert.ok(reply.headers.has('retry-after'))
    }
  }
  assert.equal(status, 503)
  assert.ok(answered.length > 3)
  full.child.kill('SIGKILL')
  await full.ended

  const { client } = await serve(t, folder)
  for (const session of answered) assert.equal((await client.session(session)).body.messages.length, 2, session)
  assert.equal((await client.chat('and now?')).status, 200)
})

test('a port in use is reported in one line', async (t) => {
  const { url } = await serve(t, await makeFolder(t))
  const second = runCommand(t, await makeFolder(t), ['serve', '--init'], { PORT: new URL(url).port })
  assert.equal(await second.ended, 1)
  assert.match(second.stderr(), /^Cannot listen on .*PORT.*\n$/)
})
