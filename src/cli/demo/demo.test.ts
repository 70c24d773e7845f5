import assert from 'node:assert/strict'
import { readdir, readFile, readlink } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { until } from '../../../test/fixtures/async-client.ts'
import { makeFolder, runCommand } from '../../../test/fixtures/process.ts'

interface DemoEvent {
  at_ms: number
  event: string
  text: string
  refunds?: number
  proposed?: number
  writes?: string[]
  tool?: string
  folder?: string
  answered?: number
  refused?: number
  spent_usd?: number
  bill_usd?: number
}

/** Starts a demonstration whose folder is made in a folder of the test. */
async function start(t: TestContext, ...args: string[]) {
  const folder = await makeFolder(t)
  const command = runCommand(t, folder, ['demo', ...args, '--json'], { TMPDIR: folder })
  const events = () =>
    command
      .stdout()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as DemoEvent)
  return { ...command, folder, events }
}

async function run(t: TestContext, ...args: string[]) {
  const command = await start(t, ...args)
  const code = await command.ended
  const all = command.events()
  const of = (name: string) => all.filter(({ event }) => event === name)
  return { code, of, last: all.at(-1)!, folder: command.folder, stderr: command.stderr() }
}

/** The processes and files of demonstrations in a folder. */
async function findRemains(folder: string): Promise<string[]> {
  const numbers = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const processes = numbers.map(async (number) => {
    const [place, line] = await Promise.all([
      readlink(`/proc/${number}/cwd`).catch(() => ''),
      readFile(`/proc/${number}/cmdline`, 'utf8').catch(() => ''),
    ])
    return place.startsWith(`${folder}/`) || line.includes(folder) ? [line] : []
  })
  const files = (await readdir(folder)).filter((name) => name.startsWith('agent-core-demo-'))
  return [...files, ...(await Promise.all(processes)).flat()]
}

const ofLinux = { skip: process.platform !== 'linux' && 'The processes are read from /proc.' }

test('demo crash: a service that is killed in the middle of a refund refunds once', ofLinux, async (t) => {
  const { code, of, last, folder, stderr } = await run(t, 'crash')
  assert.deepEqual([code, stderr], [0, ''])
  assert.deepEqual([last.event, last.refunds], ['result', 1])
  assert.deepEqual(
    of('tool').map(({ tool }) => tool),
    ['refund_order', 'order_status'],
  )
  assert.match(of('tool')[0]!.text, /outcome unknown/)
  assert.equal(of('answer')[0]!.text, 'Order 1001 was refunded once: 189 EUR.')
  assert.deepEqual([of('kill -9').length, of('start').length, of('stream').length], [1, 1, 1])
  assert.deepEqual(await findRemains(folder), [])
})

test('demo crash --twice: a refund that is declared as a read is repeated, and the exit code says so', ofLinux, async (t) => {
  const { code, of, last } = await run(t, 'crash', '--twice')
  assert.deepEqual([code, last.refunds], [1, 2])
  assert.equal(of('answer')[0]!.text, 'Order 1001 was refunded 2 times: 378 EUR.')
})

test('demo replay: the second refund of each run is proposed, and none is made', ofLinux, async (t) => {
  const { code, of, last, folder, stderr } = await run(t, 'replay')
  assert.deepEqual([code, stderr], [0, ''])
  assert.deepEqual([of('recorded')[0]!.refunds, last.refunds, last.proposed], [10, 10, 10])
  assert.deepEqual(
    of('proposed').map(({ writes }) => writes),
    Array.from({ length: 10 }, (_, index) => [`+ shop__refund_order {"order":${1001 + index}}`]),
  )
  assert.deepEqual(await findRemains(folder), [])
})

test('demo budget: fifty chats at once and a kill spend no more than the cent', ofLinux, async (t) => {
  const { code, of, last, folder, stderr } = await run(t, 'budget')
  assert.deepEqual([code, stderr, of('kill -9').length], [0, '', 1])
  const [{ answered = 0, refused = 0 }] = of('answers') as [DemoEvent]
  assert.ok(answered > 0 && refused > 0 && answered + refused === 50, `${answered} answered, ${refused} refused`)
  const [spent, bill] = [of('spent')[0]!.spent_usd!, last.bill_usd!]
  assert.ok(bill > 0 && bill <= spent && spent <= 0.01, `${bill} USD billed, ${spent} USD spent`)
  assert.deepEqual(await findRemains(folder), [])
})

const ends = [
  ['crash', 'ask', 'SIGKILL'],
  ['crash', 'kill -9', 'SIGKILL'],
  ['crash', 'ask', 'SIGINT'],
  ['replay', 'recorded', 'SIGKILL'],
  ['budget', 'kill -9', 'SIGKILL'],
] as const
for (const [name, moment, signal] of ends)
  test(`demo ${name}: ${signal} to the command at "${moment}" leaves no process and no folder`, ofLinux, async (t) => {
    const { child, ended, events, folder } = await start(t, name)
    await until(
      () => Promise.resolve(events()),
      (all) => all.some(({ event }) => event === moment),
    )
    assert.notDeepEqual(await findRemains(folder), [])
    child.kill(signal)
    assert.equal(await ended, signal === 'SIGINT' ? 1 : signal)
    await until(
      () => findRemains(folder),
      (remains) => remains.length === 0,
    )
  })

test('demo crash --keep: the folder stays, and no process', ofLinux, async (t) => {
  const { of, folder } = await run(t, 'crash', '--keep')
  const kept = of('kept')[0]!.folder!
  assert.ok((await readdir(kept)).includes('agent.yaml'))
  assert.deepEqual(await findRemains(folder), [path.basename(kept)])
})
