import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import fastify from 'fastify'
import type { AuditReader, ExportLine } from '../../audit/reader.ts'
import type { App } from '../server/app.ts'
import { auditRoutes } from './audit.ts'

const bytesPerPage = 256 * 1024
const pages = 400

/** A ledger of 100 MB, which counts the pages that were read, and says when its reading has ended. */
function largeLedger() {
  const state = { read: 0, end: Promise.withResolvers<void>() }
  const line = { type: 'head', seq: 1, kind: 'head', hash: 'x'.repeat(bytesPerPage), at: '', kid: '', jws: '' } as ExportLine
  async function* exportPages(): AsyncGenerator<ExportLine[], void> {
    try {
      for (; state.read < pages; state.read++) yield [line]
    } finally {
      state.end.resolve()
    }
  }
  return { state, reader: { export: exportPages } as unknown as AuditReader }
}

async function openExport(t: TestContext, auditReader: AuditReader) {
  const app = fastify()
  app.decorateRequest('principal', undefined)
  app.addHook('onRequest', async (request) => void Object.assign(request, { principal: { tenant: 'acme' } }))
  const nothing = async () => undefined
  for (const add of auditRoutes) add(app as unknown as App, { auditReader, auditReads: { read: nothing, exported: nothing } })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const request = http.get({ port, host: '127.0.0.1', path: '/core/v1/audit/export', agent: false })
  request.on('error', () => undefined)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return response
}

/** Waits until no page was read for a while. */
async function settled(state: { read: number }): Promise<number> {
  for (let before = -1; before !== state.read;) {
    before = state.read
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  return state.read
}

test('an export is read from the ledger as fast as its reader takes the lines, and no further when the reader leaves', async (t) => {
  const { state, reader } = largeLedger()
  const response = await openExport(t, reader)
  response.pause()
  const read = await settled(state)
  assert.ok(read < pages / 5, `${read} pages were read for a reader that takes nothing`)
  response.destroy()
  await state.end.promise
  assert.ok(state.read < pages / 5)
})

test('a whole export arrives', async (t) => {
  const { reader } = largeLedger()
  const response = await openExport(t, reader)
  let bytes = 0
  for await (const part of response) bytes += (part as Buffer).length
  assert.ok(bytes > pages * bytesPerPage)
})
