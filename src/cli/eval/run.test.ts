import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { stringify } from 'yaml'
import type { ModelAnswer, ModelServerRequest } from '../../../test/fixtures/model-server.ts'
import { startService } from '../../../test/fixtures/service.ts'
import { callOf } from '../../../test/fixtures/tools.ts'
import { runCommand } from '../command.ts'
import { createFolder, createTestTerminal, runIn } from '../terminal-fixture.ts'

/** A receiver of refunds, which counts its requests. */
async function startReceiver(t: TestContext) {
  let requests = 0
  const server = createServer((_, response) => response.end(String(++requests)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, count: () => requests }
}

/** Refunds once, or twice where the instructions say so. */
function refund({ body }: ModelServerRequest): ModelAnswer {
  const messages = body.messages as { role: string; content: string }[]
  const question = messages.findLastIndex(({ role }) => role === 'user')
  const order = Number(/\d+/.exec(JSON.stringify(messages[question]))?.[0])
  const wanted = JSON.stringify(messages).includes('Refund twice') ? 2 : 1
  const isDone = messages.slice(question).filter(({ role }) => role === 'tool').length >= wanted
  return isDone ? { text: 'Refunded.' } : callOf('refund', { order })
}

interface Extras {
  begins?: () => Promise<void>
}

/** A service with three recorded refunds in the dataset `core`, and a folder with the command line. */
async function start(t: TestContext, { begins }: Extras = {}) {
  const receiver = await startReceiver(t)
  const tool = `export default {
    description: 'Refunds an order.',
    schema: { type: 'object', properties: { order: { type: 'integer' } } },
    execute: async (input) => (await fetch('${receiver.url}', { method: 'POST' })).json(),
  }`
  const tools = [{ name: 'refund', type: 'module', config: { path: 'files/refund.mjs' } }]
  const config = { instructions: 'Refund broken orders.', tools }
  const script = (request: ModelServerRequest) => ({ ...refund(request), ...(begins && { begins: begins() }) })
  const service = await startService(t, { script, config, files: { 'refund.mjs': tool } })
  const boss = await service.as({ sub: 'boss', roles: ['admin'] })
  const { key } = await service.key({ sub: 'boss', roles: ['admin'] })
  const folder = await createFolder(t)
  const args = (...words: string[]) => ['eval', ...words, '--url', service.url, '--key', key]
  const run = (...words: string[]) => runIn(folder, args(...words))
  for (const order of [1, 2, 3]) {
    await boss.chat(`Refund order ${order}`, { 'request-id': `r${order}` })
    assert.equal((await run('add', `r${order}`, '--dataset', 'core', '--create')).code, 0)
  }
  const llms = { primary: { provider: 'openai-compatible', model: 'scripted', base_url: service.model.url } }
  const write = (name: string, fields: object) => writeFile(path.join(folder, name), stringify({ llms, ...config, ...fields }))
  await write('twice.yaml', { instructions: 'Refund twice.' })
  await write('polite.yaml', { instructions: 'Refund broken orders. Be polite.' })
  return { ...service, boss, receiver, folder, args, run, write }
}

test('a candidate that refunds twice fails with its writes on top, and nothing is executed', async (t) => {
  const { run, receiver, folder, url, boss } = await start(t)
  assert.equal(receiver.count(), 3)
  const { code, out, err } = await run('run', '--dataset', 'core', '--config', 'twice.yaml', '--junit', 'report.xml')
  assert.equal(code, 1, err)
  const [, id = ''] =
    /^Experiment (\S+) on core \(revision 3, 3 examples\)\.\n\nProposed writes: 3 added, 0 changed, 0 removed, 3 as recorded\./.exec(out) ??
    []
  assert.notEqual(id, '', out)
  for (const order of [1, 2, 3]) assert.ok(out.includes(`  Refund order ${order}\n    + refund {"order":${order}}\n`), out)
  assert.match(out, /\npassed {9}3 of 3 {2,}0 of 3\n/)
  assert.ok(out.endsWith(`${url}/console/evals/experiments/${id}\n`), out)
  assert.ok(
    err.endsWith('failed: the pass rate is 0 %, and must be at least 95 %; writes added or changed: 3, at most 0 are allowed.\n'),
    err,
  )
  const xml = await readFile(path.join(folder, 'report.xml'), 'utf8')
  assert.match(xml, /<testsuite name="core" tests="3" failures="3" errors="0" /)
  assert.match(xml, /<testcase classname="core" name="Refund order 1" time="[\d.]+"><failure message="\+ refund \{&#34;order&#34;:1\}">/)
  const shown = (await boss.request('GET', `/core/v1/experiments/${id}`)).body
  assert.deepEqual([shown.status, shown.verdict], ['completed', 'failed'])
  const tolerated = await run('run', '--dataset', 'core', '--config', 'twice.yaml', '--min-pass-rate', '0', '--max-added-writes', '3')
  assert.equal(tolerated.code, 0, tolerated.err)
  assert.equal(receiver.count(), 3)
})

test('a candidate that changes no write passes; recorded replies need no model', async (t) => {
  const { run, receiver, model } = await start(t)
  const polite = await run('run', '--dataset', 'core', '--config', 'polite.yaml', '--baseline', 'recorded')
  assert.equal(polite.code, 0, polite.err)
  assert.match(polite.out, /\nProposed writes: 0 added, 0 changed, 0 removed, 3 as recorded\.\n\n {15}baseline {10}candidate\n/)
  assert.ok(polite.out.endsWith('\npassed\n'), polite.out)
  const before = model.requests.length
  const recorded = await run('run', '--dataset', 'core', '--recorded', '--json')
  assert.equal(recorded.code, 0, recorded.err)
  const { passed, shortfalls, experiment, findings } = JSON.parse(recorded.out)
  assert.deepEqual([passed, shortfalls, findings, experiment.verdict], [true, [], [], 'passed'])
  assert.deepEqual(
    experiment.variants.map(({ kind }: { kind: string }) => kind),
    ['recorded'],
  )
  assert.deepEqual([model.requests.length, receiver.count()], [before, 3])
  const list = await run('list')
  const [head, dataset, , experiments, newest] = list.out.split('\n').map((line) => line.split(/ {2,}/))
  assert.deepEqual([head, dataset![0], dataset![3]], [['dataset', 'id', 'revision', 'examples'], 'core', '3'])
  assert.deepEqual([experiments![0], newest!.slice(0, 6)], ['experiment', [experiment.id, 'core', 'completed', 'passed', '100 %', '0']])
})

test('what cannot be run is exit code 2, and says why', async (t) => {
  const { run, folder } = await start(t)
  await writeFile(path.join(folder, 'faulty.yaml'), 'name: Faulty\ntools:\n  - { name: nothing }\nnmae: Faulty\n')
  await writeFile(path.join(folder, 'broken.yaml'), 'name: [')
  const cases: [string[], RegExp][] = [
    [['--dataset', 'unknown'], /^There is no dataset unknown\.\n"agent-core eval list" shows the datasets/],
    [
      ['--dataset', 'core', '--config', 'faulty.yaml'],
      /^faulty\.yaml:3 tools\[0\]\.type: is required.*\nfaulty\.yaml:4 nmae: is not a known field/,
    ],
    [['--dataset', 'core', '--config', 'broken.yaml'], /^broken\.yaml:1: is not valid YAML/],
    [['--dataset', 'core', '--config', 'absent.yaml'], /absent\.yaml cannot be read \(ENOENT\)\.$/],
    [['--dataset', 'core', '--junit', 'absent/report.xml'], /absent\/report\.xml cannot be written \(ENOENT\)\.$/],
    [['--dataset', 'core', '--junit', '.'], /cannot be written/],
    [['--dataset', 'core', '--baseline', 'v0'], /no version "v0".*\n.*\/agent\/config\/history/],
    [['--dataset', 'core', '--on-miss', 'live', '--live', 'refund'], /^--live refund: has effect write$/],
    [['--dataset', 'core', '--repetitions', '11'], /repetitions/],
    [['--dataset', 'core', '--recorded', '--config', 'twice.yaml'], /cannot be used with/],
    [['--dataset', 'core', '--min-pass-rate', '95'], /must be a number from 0 to 1/],
    [[], /required option '--dataset/],
  ]
  for (const [args, message] of cases) {
    const { code, out, err } = await run('run', ...args)
    assert.deepEqual([code, out], [2, ''], err)
    assert.match(err.trimEnd(), message)
  }
  const away = await runIn(folder, ['eval', 'run', '--dataset', 'core'])
  assert.deepEqual([away.code, away.err.startsWith('No service of DATA_DIR is running.')], [2, true], away.err)
})

test('Ctrl-C cancels the experiment', async (t) => {
  const gate = Promise.withResolvers<void>()
  let isHeld = false
  t.after(() => gate.resolve())
  const { args, folder, boss } = await start(t, { begins: async () => (isHeld ? gate.promise : undefined) })
  isHeld = true
  const { terminal, err, saw, stop } = createTestTerminal(folder, { isTTY: true })
  const ending = runCommand(args('run', '--dataset', 'core'), terminal)
  await saw('0 of 3 replayed, 0 writes added or changed')
  stop()
  assert.equal(await ending, 2)
  const [, id = ''] = /Experiment (\S+) was cancelled\.\n$/.exec(err()) ?? []
  assert.equal((await boss.request('GET', `/core/v1/experiments/${id}`)).body.status, 'cancelled', err())
})
