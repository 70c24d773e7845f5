import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { fetch } from 'undici'
import { collectGarbage } from '../../../test/fixtures/garbage.ts'
import { boundResponse } from './bounded-body.ts'

test('a response whose body is read late is whole', async (t) => {
  const server = createServer((_request, response) => void response.end('the reason'))
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const response = boundResponse(await fetch(`http://127.0.0.1:${port}/`), 1024, () => {})
  await collectGarbage()
  assert.equal(await response.text(), 'the reason')
})
