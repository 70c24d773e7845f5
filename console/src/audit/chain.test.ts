import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditLine } from '../../../client/src/index.ts'
import { chainHash, firstHash, type SealedEvent } from '../../../src/audit/event.ts'
import { toLine } from '../../../src/audit/export.ts'
import { signHead, type SignedHead } from '../../../src/audit/heads.ts'
import { createHeadCheck, verifyChain, type HeadKey } from './chain.ts'

const keys = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])
const { x } = await crypto.subtle.exportKey('jwk', keys.publicKey)
const jwk: HeadKey = { kty: 'OKP', crv: 'Ed25519', x: x!, kid: 'k1', alg: 'EdDSA', use: 'sig' }
const signing = { newest: () => ({ kid: 'k1', privateKey: keys.privateKey }) }

/** The lines of an export of `count` events behind `after`, with a head at its end, as the service writes them. */
async function linesOf(count: number, after = 0): Promise<string[]> {
  let previous = firstHash
  const lines: string[] = []
  for (let seq = 1; seq <= after + count; seq++) {
    const event: SealedEvent = {
      tenant: 'acme',
      id: `id-${seq}`,
      seq,
      at: '2026-11-28T08:00:00.000Z',
      actor: { issuer: 'idp', sub: 'Zoë €', via: 'api' },
      action: 'key.created',
      target: `key:${seq}`,
      outcome: 'success',
      request_id: null,
      config_version: null,
      data: { roles: ['viewer'], n: 1e21, b: { z: 1, a: null } },
    }
    const hash = chainHash(previous, event)
    if (seq > after) lines.push(toLine({ event: { ...event, prev_hash: previous, hash } }))
    previous = hash
  }
  const head: SignedHead = await signHead(
    { tenant: 'acme', kind: 'head', seq: after + count, hash: previous, at: '2026-11-28T08:00:01.000Z' },
    signing,
  )
  return [...lines, toLine({ head })]
}

async function* parsed(lines: readonly string[]): AsyncGenerator<AuditLine, void> {
  for (const line of lines) yield JSON.parse(line) as AuditLine
}
const verify = async (lines: readonly string[]) => verifyChain(parsed(lines), await createHeadCheck([jwk]))

test('the chain of an export is verified, with its signatures, from the first event or from within', async () => {
  assert.deepEqual(await verify(await linesOf(5)), { events: 5, first: 1, last: 5, signedTo: 5 })
  assert.deepEqual(await verify(await linesOf(3, 4)), { events: 3, first: 5, last: 7, signedTo: 7 })
  assert.deepEqual(await verify([]), { events: 0, first: 0, last: 0, signedTo: 0 })
  assert.equal((await verifyChain(parsed(await linesOf(5)), undefined)).signedTo, 0)
})

test('a changed, removed, exchanged or repeated event, and a foreign signature, are found where they are', async () => {
  const lines = await linesOf(5)
  const faultOf = async (changed: readonly string[]) => (await verify(changed)).fault
  const withChange = (from: string, to: string) => lines.map((line) => line.replace(from, to))
  assert.deepEqual(await faultOf(withChange('key:3', 'key:4')), { seq: 3, reason: 'hash does not match' })
  assert.deepEqual(await faultOf(lines.toSpliced(2, 1)), { seq: 4, reason: 'seq 3 is missing' })
  assert.deepEqual(await faultOf(lines.toSpliced(1, 2, lines[2]!, lines[1]!)), { seq: 3, reason: 'seq 2 is missing' })
  assert.deepEqual(await faultOf(lines.toSpliced(2, 0, lines[1]!)), { seq: 2, reason: 'seq 3 is missing' })
  assert.deepEqual(await faultOf(lines.toSpliced(4, 1)), { seq: 5, reason: 'the signed head does not fit' })
  const other = {
    ...jwk,
    x: (await crypto.subtle.exportKey('jwk', (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])).publicKey)).x!,
  }
  const result = await verifyChain(parsed(lines), await createHeadCheck([other]))
  assert.deepEqual(result.fault, { seq: 5, reason: 'the signature of the head is wrong' })
})

test('progress is told now and then', async () => {
  const counts: number[] = []
  await verifyChain(parsed(await linesOf(1100)), undefined, (count) => counts.push(count))
  assert.deepEqual(counts, [500, 1000])
})
