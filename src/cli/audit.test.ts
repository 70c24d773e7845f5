import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { chainHash } from '../audit/event.ts'
import type { ChainedEvent } from '../audit/ledger-source.ts'
import { canonicalJson } from '../json/canonical.ts'
import { createFolder, runIn } from './terminal-fixture.ts'

/** A folder with the exported ledger of two keys, and the public keys. */
async function createLedger(t: TestContext) {
  const folder = await createFolder(t)
  const run = (...args: string[]) => runIn(folder, args)
  for (const sub of ['ann', 'bob']) assert.equal((await run('keys', 'create', '--sub', sub)).code, 0)
  assert.deepEqual(await run('audit', 'export', 'ledger.ndjson'), { code: 0, out: '', err: '' })
  const keys = await run('audit', 'keys')
  const file = path.join(folder, 'ledger.ndjson')
  await writeFile(path.join(folder, 'jwks.json'), keys.out)
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  return { run, lines, write: (text: string) => writeFile(file, text), database: path.join(folder, '.agent-core', 'agent-core.db'), folder }
}

const join = (lines: readonly string[]) => `${lines.join('\n')}\n`
const offline = ['audit', 'verify', 'ledger.ndjson', '--key', 'jwks.json']

test('the ledger is verified in the database and as an exported file', async (t) => {
  const { run, lines } = await createLedger(t)
  const kinds = lines.map((line) => JSON.parse(line) as { type: string; seq: number; action?: string; actor?: { via: string } })
  assert.deepEqual(
    kinds.map(({ type, seq, action }) => [type, seq, action]),
    [
      ['event', 1, 'key.created'],
      ['event', 2, 'key.created'],
      ['event', 3, 'audit.exported'],
      ['head', 3, undefined],
    ],
  )
  const out = 'default: seq 1 to 3 verified; signed to the end.\n'
  assert.deepEqual(await run('audit', 'verify'), { code: 0, out, err: '' })
  assert.deepEqual(await run(...offline), { code: 0, out, err: '' })
  const unsigned = 'default: seq 1 to 3 verified; no head is signed.\nNo signature was checked: pass the public keys with --key.\n'
  assert.deepEqual(await run('audit', 'verify', 'ledger.ndjson'), { code: 0, out: unsigned, err: '' })
  await run('keys', 'create', '--sub', 'eve')
  assert.equal((await run('audit', 'verify')).out, `${out}default: 1 events are not sealed yet.\n`)
})

test('a changed file is exit code 1 with the first number where', async (t) => {
  const { run, lines, write } = await createLedger(t)
  const [first = '', second = '', third = '', head = ''] = lines
  const expectFault = async (text: string, fault: string) => {
    await write(text)
    assert.deepEqual(await run(...offline), { code: 1, out: '', err: `default: ${fault}\n` })
  }
  await expectFault(join([first, second.replace('key.created', 'key.creates'), third, head]), 'seq 2: hash does not match')
  await expectFault(join([first, third, head]), 'seq 2: missing: seq 3 follows')
  await expectFault(join([second, first, third, head]), 'seq 1: a second event with this number, or out of order')
  await expectFault(join([first, first, second, third, head]), 'seq 1: a second event with this number, or out of order')
  await expectFault(join([first, second, head]), 'seq 3: missing: a head was signed at seq 3, and the last event before is seq 2')
  await expectFault(join([first, second.replace('{', '{ '), third, head]), 'seq 2: line 2 is not in the form of an export')
  await expectFault(join([first, second.replace('{', '{"note":1,'), third, head]), 'seq 2: line 2 is no event and no head')
  await expectFault(
    join([first, second.replace('"seq":2', '"seq":2,"seq":2'), third, head]),
    'seq 2: line 2 is not in the form of an export',
  )
  await expectFault(join(lines).slice(0, -20), 'seq 4: line 4 is no event and no head')
  const at = /"at":"([^"]+)"/.exec(head)![1]!
  await expectFault(
    join([first, second, third, head.replace(at, '2030-01-01T00:00:00.000Z')]),
    'seq 3: the signed head: the signature is of another head',
  )
})

test('each other last character of a signature is found, and a value without an end of nesting', async (t) => {
  const { run, lines, write } = await createLedger(t)
  const { jws } = JSON.parse(lines.at(-1)!) as { jws: string }
  // The last character of 64 bytes has four bits that mean nothing.
  for (const end of ['A', 'B', 'Q', 'g', 'w', 'x', '=', 'AA'].filter((text) => !jws.endsWith(text))) {
    await write(join(lines).replace(jws, jws.slice(0, -1) + end))
    assert.deepEqual(await run(...offline), { code: 1, out: '', err: 'default: seq 3: the signed head: the signature is wrong\n' })
  }
  await write(join([lines[0]!.replace(/"data":\{[^}]*\}/, `"data":${'['.repeat(400_000)}${']'.repeat(400_000)}`)]))
  assert.deepEqual(await run(...offline), { code: 1, out: '', err: 'default: seq 1: hash does not match\n' })
})

test('a file whose end was cut off is found with a head that lies elsewhere, in each of its forms', async (t) => {
  const { run, lines, write, folder } = await createLedger(t)
  const head = JSON.parse(lines.at(-1)!) as { jws: string }
  await write(join(lines.slice(0, 2)))
  assert.equal((await run(...offline)).code, 0)
  const forms = [
    lines.at(-1)!,
    head.jws,
    JSON.stringify({ specversion: '1.0', data: head }, undefined, 2),
    JSON.stringify({ heads: [head] }),
  ]
  for (const form of forms) {
    await writeFile(path.join(folder, 'head.json'), form)
    const { code, err } = await run(...offline, '--head', 'head.json')
    const sentence = 'default: seq 3: missing: the given head is of seq 3, and the ledger ends at seq 2: its end was cut off\n'
    assert.deepEqual({ code, err }, { code: 1, err: sentence })
  }
})

test('names in a file write no line of their own to the terminal', async (t) => {
  const { run, lines, write } = await createLedger(t)
  const { type: _, prev_hash: previous, hash: __, ...event } = JSON.parse(lines[0]!) as ChainedEvent & { type: string }
  const named = { ...event, tenant: 'default: seq 1 to 9 verified; signed to the end.\n\u001B[8m\u202E' }
  const toLine = (hash: string) => `${canonicalJson({ ...named, type: 'event', prev_hash: previous, hash })}\n`
  const label = String.raw`"default: seq 1 to 9 verified; signed to the end.\n\u001b[8m\u{202e}"`
  await write(toLine(chainHash(previous, named)))
  assert.deepEqual(await run(...offline), { code: 0, out: `${label}: seq 1 to 1 verified; no head is signed.\n`, err: '' })
  await write(toLine('x'))
  assert.deepEqual(await run(...offline), { code: 1, out: '', err: `${label}: seq 1: hash does not match\n` })
  const jws = `${Buffer.from('{"alg":"EdDSA","kid":"\\n\\u001b","typ":"audit-head"}').toString('base64url')}.e30.x`
  await write(join([lines[0]!, canonicalJson({ ...(JSON.parse(lines.at(-1)!) as object), seq: 1, jws })]))
  const fault = String.raw`seq 1: the signed head: the signature is of a key that is not known (\u{a}\u{1b})`
  assert.deepEqual(await run(...offline), { code: 1, out: '', err: `default: ${fault}\n` })
})

test('events that were signed long after their time are named', async (t) => {
  const { run, database } = await createLedger(t)
  await run('keys', 'create', '--sub', 'eve')
  const file = new DatabaseSync(database)
  file.exec('drop trigger audit_events_unchanged; update audit_events set at = at - 86400000 where seq is null')
  file.close()
  await run('audit', 'export', 'ledger.ndjson')
  const late =
    'default: seq 4 to 5 were signed up to 1 day after their time: the service was stopped, a clock was wrong, or another program wrote or rewrote events.'
  const out = `default: seq 1 to 5 verified; signed to the end.\n${late}\n`
  assert.deepEqual(await run('audit', 'verify'), { code: 0, out, err: '' })
  assert.deepEqual(await run(...offline), { code: 0, out, err: '' })
})

test('a changed database is exit code 1, and what cannot be checked is exit code 2', async (t) => {
  const { run, database, write } = await createLedger(t)
  const file = new DatabaseSync(database)
  assert.throws(() => file.exec("update audit_events set sub = 'eve' where seq = 2"), /not changed/)
  file.exec("drop trigger audit_events_unchanged; update audit_events set sub = 'eve' where seq = 2")
  file.close()
  assert.deepEqual(await run('audit', 'verify'), { code: 1, out: '', err: 'default: seq 2: hash does not match\n' })
  assert.deepEqual(await run('audit', 'verify', '--tenant', 'acme'), {
    code: 0,
    out: 'acme: no events; no head is signed.\n',
    err: '',
  })
  await write('')
  assert.deepEqual(await run(...offline), { code: 2, out: '', err: 'ledger.ndjson has no events: nothing was verified.\n' })
  assert.deepEqual(await run('audit', 'verify', 'no.ndjson'), { code: 2, out: '', err: 'no.ndjson cannot be read (ENOENT).\n' })
  await write('{}')
  const noKey = await run('audit', 'verify', 'ledger.ndjson', '--key', 'ledger.ndjson')
  assert.deepEqual(
    [noKey.code, noKey.err],
    [2, 'ledger.ndjson has no Ed25519 key. It must be a JWKS, such as "agent-core audit keys" prints.\n'],
  )
  const empty = await createFolder(t)
  const fresh = await runIn(empty, ['audit', 'verify'])
  assert.equal(fresh.code, 2)
  assert.match(fresh.err, /no service was started here yet/)
})

test('a part of the ledger is exported, and verified as the part that it is', async (t) => {
  const { run, lines } = await createLedger(t)
  const { at } = JSON.parse(lines[1]!) as { at: string }
  const part = await run('audit', 'export', '--since', at, '--tenant', 'default')
  assert.equal(part.out.split('\n')[0], lines[1])
  assert.equal((await run('audit', 'export', '--until', at)).out, `${lines[0]}\n`)
  assert.equal((await run('audit', 'export', '--until', 'tomorrow')).code, 2)
})
