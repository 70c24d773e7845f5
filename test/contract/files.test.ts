import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import OpenAI, { toFile } from 'openai'
import { until } from '../fixtures/async-client.ts'
import { startS3 } from '../fixtures/s3-server.ts'
import { startService, type ServiceOptions, type Who } from '../fixtures/service.ts'

async function startFiles(t: TestContext, options: ServiceOptions = {}) {
  const service = await startService(t, { script: {}, ...options })
  const as = async (who?: Who) => new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key(who)).key, maxRetries: 0 })
  const folder = path.join(service.settings.dataDir, 'artifacts')
  /** Names of all files below the folder of the bytes. */
  const stored = async () => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  }
  return { service, openai: await as(), as, stored }
}

const text = (content: string, name = 'notes.txt') => toFile(Buffer.from(content), name, { type: 'text/plain' })
const isMissing = { status: 404, code: 'not_found' }

/** Sends a form as raw bytes, and resolves with status and error. */
async function sendRaw(url: string, key: string, body: string | Buffer, { boundary = 'b', breaksOff = false, length = true } = {}) {
  const request = httpRequest(`${url}/v1/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': `multipart/form-data; boundary=${boundary}`,
      ...(length ? { 'content-length': Buffer.byteLength(body) + (breaksOff ? 1000 : 0) } : {}),
    },
  })
  request.on('error', () => undefined)
  request.write(body)
  if (breaksOff) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    request.destroy()
    return undefined
  }
  request.end()
  const [reply] = await once(request, 'response')
  let answer = ''
  for await (const chunk of reply) answer += chunk
  return { status: reply.statusCode as number, body: JSON.parse(answer) }
}

const part = (name: string, value: string, more = '') => `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`

test('Files: the client of OpenAI uploads, lists, reads and deletes files', async (t) => {
  const { openai, stored } = await startFiles(t)
  const first = await openai.files.create({ file: await text('Grüezi', 'grüße.txt'), purpose: 'user_data' })
  const { id, created_at, expires_at, ...rest } = first
  assert.deepEqual(rest, { object: 'file', bytes: 7, filename: 'grüße.txt', purpose: 'user_data', status: 'processed' })
  assert.match(id, /^file-[0-9a-f-]{36}$/)
  assert.ok(Math.abs(created_at - Date.now() / 1000) < 60)
  assert.equal(expires_at, created_at + 30 * 86_400)
  assert.deepEqual(await openai.files.retrieve(id), first)
  const content = await openai.files.content(id)
  assert.equal(await content.text(), 'Grüezi')
  assert.equal(content.headers.get('content-type'), 'text/plain')
  assert.match(content.headers.get('content-disposition')!, /^attachment; filename=/)
  assert.equal(content.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(content.headers.get('content-security-policy'), 'sandbox')
  const second = await openai.files.create({
    file: await text('<b>', '../x/page.html'),
    purpose: 'vision',
    expires_after: { anchor: 'created_at', seconds: 3600 },
  })
  assert.equal(second.expires_at, second.created_at + 3600)
  assert.equal(second.filename, 'page.html')
  const names = async (query: object) => {
    const found: string[] = []
    for await (const { filename } of openai.files.list(query)) found.push(filename)
    return found
  }
  assert.deepEqual(await names({}), ['page.html', 'grüße.txt'])
  assert.deepEqual(await names({ limit: 1, order: 'asc' }), ['grüße.txt', 'page.html'])
  assert.deepEqual(await names({ purpose: 'vision' }), ['page.html'])
  assert.deepEqual(await openai.files.delete(id), { id, object: 'file', deleted: true })
  await assert.rejects(openai.files.retrieve(id), isMissing)
  await assert.rejects(openai.files.content(id), isMissing)
  await assert.rejects(openai.files.delete(id), isMissing)
  await until(stored, ({ length }) => length === 1)
})

test('Files: another owner or tenant neither sees nor deletes them', async (t) => {
  const { openai, as } = await startFiles(t)
  const { id } = await openai.files.create({ file: await text('mine'), purpose: 'user_data' })
  for (const who of [{ sub: 'bob' }, { tenant: 'acme' }, { sub: 'root', roles: ['admin'] }]) {
    const other = await as(who)
    assert.deepEqual((await other.files.list()).data, [])
    await assert.rejects(other.files.retrieve(id), isMissing)
    await assert.rejects(other.files.content(id), isMissing)
    await assert.rejects(other.files.delete(id), isMissing)
  }
  assert.equal((await openai.files.retrieve(id)).id, id)
})

test('Files: fields may precede or follow the file; what is wrong is named, and nothing of it is stored', async (t) => {
  const { service, stored } = await startFiles(t)
  const { key } = await service.key()
  const file = part('file', 'x', '; filename="a.txt"')
  const purpose = part('purpose', 'user_data')
  const send = (body: string) => sendRaw(service.url, key, body)
  for (const body of [`${file}${purpose}--b--\r\n`, `${purpose}${file}--b--\r\nepilogue`]) assert.equal((await send(body))?.status, 200)
  assert.equal((await stored()).length, 2)
  const faults: [string, string][] = [
    [`${purpose}--b--\r\n`, 'file'],
    [`${file}--b--\r\n`, 'purpose'],
    [`${file}${part('purpose', 'batch')}--b--\r\n`, 'purpose'],
    [`${file}${purpose}${part('colour', 'red')}--b--\r\n`, 'colour'],
    [`${file}${file}${purpose}--b--\r\n`, 'file'],
    [`${part('image', 'x', '; filename="a.txt"')}${purpose}--b--\r\n`, 'image'],
    [`${file}${purpose}${part('expires_after[seconds]', '60')}--b--\r\n`, 'expires_after.anchor'],
    [
      `${file}${purpose}${part('expires_after[anchor]', 'created_at')}${part('expires_after[seconds]', '60')}--b--\r\n`,
      'expires_after.seconds',
    ],
    [`${file}${part('purpose', 'x'.repeat(70_000))}--b--\r\n`, 'purpose'],
  ]
  for (const [body, param] of faults) {
    const reply = await send(body)
    assert.deepEqual([reply?.status, reply?.body.error.param], [400, param], body.slice(0, 300))
  }
  for (const body of [file, `${file}${purpose}`, '', `${file}--b\r\n`, 'nonsense']) {
    const reply = await send(body)
    assert.deepEqual([reply?.status, reply?.body.error.code], [400, 'invalid_input'], body)
  }
  assert.equal((await sendRaw(service.url, key, file, { boundary: '' }))?.status, 400)
  const json = await service.client.request('POST', '/v1/files', { body: { purpose: 'user_data' } })
  assert.equal(json.status, 415)
  const form = new FormData()
  form.set('file', 'x')
  const headers = { authorization: `Bearer ${key}` }
  assert.equal((await fetch(`${service.url}/core/v1/chain`, { method: 'POST', headers, body: form })).status, 415)
  assert.equal((await stored()).length, 2)
})

test('Files: an upload that breaks off leaves no file, and its quota is free again', async (t) => {
  const { service, openai, stored } = await startFiles(t, { config: { limits: { max_owner_upload_bytes: 3_000_000 } } })
  const { key } = await service.key()
  const body = `${part('purpose', 'user_data')}--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${'x'.repeat(2_000_000)}`
  await sendRaw(service.url, key, body, { breaksOff: true })
  await until(stored, ({ length }) => length === 0)
  assert.deepEqual((await openai.files.list()).data, [])
  const large = await text('x'.repeat(2_900_000))
  const upload = () => openai.files.create({ file: large, purpose: 'user_data' }).catch(() => undefined)
  await until(upload, (file) => file !== undefined)
})

test('Files: size and quotas bound what is stored, also of concurrent uploads', async (t) => {
  const limits = { max_upload_bytes: 1000, max_owner_upload_bytes: 2500, max_tenant_upload_bytes: 4000 }
  const { service, openai, as, stored } = await startFiles(t, { config: { limits } })
  const upload = async (client: OpenAI, bytes: number) => client.files.create({ file: await text('x'.repeat(bytes)), purpose: 'user_data' })
  await assert.rejects(upload(openai, 1001), { status: 413, code: 'input_too_large' })
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => upload(openai, 1000)))
  const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  assert.equal(refusals.length, 4)
  for (const { status, code } of refusals) assert.deepEqual([status, code], [413, 'upload_quota_exceeded'])
  await upload(openai, 500)
  await assert.rejects(upload(openai, 1), { message: /max_owner_upload_bytes/ })
  const bob = await as({ sub: 'bob' })
  const { id } = await upload(bob, 1000)
  await assert.rejects(upload(bob, 600), { message: /max_tenant_upload_bytes/ })
  await bob.files.delete(id)
  await upload(bob, 600)
  await upload(await as({ tenant: 'acme' }), 1000)
  await until(stored, ({ length }) => length === 5)
  // Without a stated length the limit counts all the same.
  const { key } = await service.key({ tenant: 'acme' })
  const body = `${part('file', 'x'.repeat(3_000_000), '; filename="a"')}${part('purpose', 'user_data')}--b--\r\n`
  assert.equal((await sendRaw(service.url, key, body, { length: false }))?.status, 413)
  assert.equal((await stored()).length, 5)
})

test('Files: bytes are kept in the bucket where one is configured', async (t) => {
  const s3 = await startS3()
  t.after(() => s3.close())
  const { openai, stored } = await startFiles(t, { environment: s3.environment })
  const content = Buffer.alloc(20 * 1024 * 1024, 'abc')
  const { id, bytes } = await openai.files.create({ file: await toFile(content, 'large.bin'), purpose: 'user_data' })
  assert.equal(bytes, content.length)
  const read = Buffer.from(await (await openai.files.content(id)).arrayBuffer())
  assert.ok(read.equals(content))
  assert.deepEqual(await stored(), [])
  await openai.files.delete(id)
  await s3.close()
  await assert.rejects(openai.files.create({ file: await text('x'), purpose: 'user_data' }), { status: 503, code: 'artifacts_unavailable' })
})
