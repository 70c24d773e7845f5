import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import fastify from 'fastify'
import type { LedgerSource, Link } from '../../audit/ledger-source.ts'
import type { AuditReader } from '../../audit/reader.ts'
import { auditRoutes } from './audit.ts'

const lineLength = 64 * 1024
const lines = 1600

/** A ledger of 100 MB, which counts the events that were read, and says when its reading has ended. */
function largeLedger() {
  const state = { read: 0, end: Promise.withResolvers<void>() }
  const head = { tenant: 'acme', seq: 1, kind: 'head' as const, hash: 'x'.repeat(lineLength), at: '', kid: '', jws: '' }
  async function* links(): AsyncGenerator<Link, void> {
    try {
      for (; state.read < lines; state.read++) yield { head }
    } finally {
      state.end.resolve()
    }
  }
  return { state, source: { open: async () => ({ links: links(), end: undefined, cut: 0 }) } as unknown as LedgerSource }
}

async function openExport(t: TestContext, ledgerSource: LedgerSource) {
  const app = fastify()
  app.decorateRequest('principal', undefined)
  app.addHook('onRequest', async (request) => void Object.assign(request, { principal: { tenant: 'acme' } }))
  const nothing = async () => undefined
  const services = { ledgerSource, auditReader: {} as AuditReader, auditReads: { read: nothing, exported: nothing }, headKeys: () => [] }
  for (const add of auditRoutes) add(app, services)
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const request = http.get({ port, host: '127.0.0.1', path: '/core/v1/audit/export', agent: false })
  request.on('error', () => undefined)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return response
}

/** Waits until no event was read for a while. */
async function settled(state: { read: number }): Promise<number> {
  for (let before = -1; before !== state.read;) {
    before = state.read
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  return state.read
}

test('an export is read from the ledger as fast as its reader takes the lines, and no further when the reader leaves', async (t) => {
  const { state, source } = largeLedger()
  const response = await openExport(t, source)
  response.pause()
  const read = await settled(state)
  assert.ok(read < lines / 5, `${read} events were read for a reader that takes nothing`)
  response.destroy()
  await state.end.promise
  assert.ok(state.read < lines / 5)
})

test('a whole export arrives', async (t) => {
  const { source } = largeLedger()
  const response = await openExport(t, source)
  let bytes = 0
  for await (const part of response) bytes += (part as Buffer).length
  assert.ok(bytes > lines * lineLength)
})
