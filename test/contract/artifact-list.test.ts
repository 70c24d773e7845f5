import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { startService } from '../fixtures/service.ts'
import type { Client } from '../fixtures/service-client.ts'
import { callOf } from '../fixtures/tools.ts'

/** A service whose model writes a file with the text of the question. */
function startWriter(t: TestContext) {
  return startService(t, {
    script: ({ body }) => {
      const last = body.messages.at(-1)
      return last.role === 'tool'
        ? { text: 'written' }
        : callOf('write_file', { file_name: `${last.content}.html`, content: `<b>${last.content}</b>` })
    },
    config: { tools: [{ name: 'write_file' }] },
  })
}

interface Listed {
  artifact_id: string
  file_name: string
  session_id: string
  request_id: string
  download_url: string
  expires_at: string
}

async function list(client: Client, query = ''): Promise<{ artifacts: Listed[]; offset: string; has_more: boolean }> {
  const { status, body } = await client.request('GET', `/core/v1/artifacts${query}`)
  assert.equal(status, 200)
  return body
}

const namesOf = ({ artifacts }: { artifacts: Listed[] }) => artifacts.map(({ file_name }) => file_name)

test('Artifact list: own files are listed newest first, page by page, with session, run and link', async (t) => {
  const { client } = await startWriter(t)
  assert.deepEqual(await list(client), { artifacts: [], offset: '', has_more: false })
  for (const n of [1, 2, 3]) await client.chat(`f${n}`, { 'session-id': `s${n}`, 'request-id': `r${n}` })
  const all = await list(client)
  assert.deepEqual(namesOf(all), ['f3.html', 'f2.html', 'f1.html'])
  assert.equal(all.has_more, false)
  const { artifact_id, created_at, download_url, expires_at, ...rest } = all.artifacts[0] as Listed & { created_at: string }
  assert.deepEqual(rest, {
    file_name: 'f3.html',
    file_type: 'text/html',
    size: 9,
    sha256: hash('sha256', '<b>f3</b>'),
    tool: 'write_file',
    session_id: 's3',
    request_id: 'r3',
  })
  const { generated_artifacts } = (await client.session('s3')).body.messages[1].response_metadata
  assert.deepEqual(
    { artifact_id, created_at },
    { artifact_id: generated_artifacts[0].artifact_id, created_at: generated_artifacts[0].created_at },
  )
  assert.equal(await (await fetch(download_url)).text(), '<b>f3</b>')
  assert.ok(Math.abs(Date.parse(expires_at) - Date.now() - 900_000) < 60_000, expires_at)
  const first = await list(client, '?limit=2')
  assert.deepEqual({ names: namesOf(first), has_more: first.has_more }, { names: ['f3.html', 'f2.html'], has_more: true })
  const second = await list(client, `?limit=2&before=${first.offset}`)
  assert.deepEqual({ names: namesOf(second), has_more: second.has_more }, { names: ['f1.html'], has_more: false })
  for (const query of ['?limit=0', '?limit=101', '?before=nonsense', `?before=${Buffer.from('[1,2]').toString('base64url')}`]) {
    assert.equal((await client.request('GET', `/core/v1/artifacts${query}`)).status, 422, query)
  }
})

test('Artifact content: the bytes are an attachment, whole or by range', async (t) => {
  const { client, url, key } = await startWriter(t)
  await client.chat('page', { 'session-id': 's' })
  const { artifact_id: id } = (await list(client)).artifacts[0]!
  const headers = { authorization: `Bearer ${(await key()).key}` }
  const get = (more: Record<string, string> = {}, method = 'GET') =>
    fetch(`${url}/core/v1/artifacts/${id}/content`, { method, headers: { ...headers, ...more } })
  const whole = await get()
  assert.equal(await whole.text(), '<b>page</b>')
  const names = [
    'content-type',
    'content-length',
    'content-disposition',
    'x-content-type-options',
    'content-security-policy',
    'cache-control',
  ]
  assert.deepEqual(
    names.map((name) => whole.headers.get(name)),
    ['text/html', '11', 'attachment; filename=page.html', 'nosniff', 'sandbox', 'private, no-store'],
  )
  const part = await get({ range: 'bytes=3-6' })
  assert.deepEqual(
    { status: part.status, text: await part.text(), range: part.headers.get('content-range') },
    { status: 206, text: 'page', range: 'bytes 3-6/11' },
  )
  assert.equal((await get({ range: 'bytes=99-' })).status, 416)
  const head = await get({}, 'HEAD')
  assert.deepEqual(
    { status: head.status, length: head.headers.get('content-length'), text: await head.text() },
    { status: 200, length: '11', text: '' },
  )
  assert.equal((await fetch(`${url}/core/v1/artifacts/${id}/content`, { method: 'HEAD' })).status, 401)
})

test('Artifact list: files of other callers and tenants are neither listed nor sent', async (t) => {
  const { as } = await startWriter(t)
  const ann = await as({ sub: 'ann' })
  await ann.chat('mine', { 'session-id': 's' })
  const { artifact_id: id } = (await list(ann)).artifacts[0]!
  const content = (client: Client) => client.request('GET', `/core/v1/artifacts/${id}/content`)
  for (const other of [await as({ sub: 'bob' }), await as({ sub: 'ann', tenant: 'elsewhere', roles: ['admin'] })]) {
    assert.deepEqual((await list(other)).artifacts, [])
    const { status, body } = await content(other)
    assert.deepEqual({ status, type: body.details.error_type }, { status: 404, type: 'NotFound' })
  }
  const admin = await as({ sub: 'root', roles: ['admin'] })
  assert.deepEqual((await list(admin)).artifacts, [])
  assert.equal((await content(admin)).status, 200)
})

test('Artifact list: a fork has its own entry, and files leave the list with their session', async (t) => {
  const { client, settings } = await startWriter(t)
  await client.chat('a', { 'session-id': 's' })
  await client.chat('b', { 'session-id': 's' })
  const fork = await client.request('POST', '/core/v1/sessions/s/fork', { body: { message_index: 2 } })
  const forked: string = fork.body.session_id
  const entries = async () => (await list(client)).artifacts.map(({ file_name, session_id }) => `${file_name} ${session_id}`).toSorted()
  assert.deepEqual(await entries(), [`a.html ${forked}`, 'a.html s', 'b.html s'].toSorted())
  const { artifact_id: id } = (await list(client)).artifacts.find(({ file_name }) => file_name === 'a.html')!
  assert.equal((await client.request('DELETE', '/core/v1/sessions/s')).status, 200)
  assert.deepEqual(await entries(), [`a.html ${forked}`])
  assert.equal((await client.request('GET', `/core/v1/artifacts/${id}/content`)).text, '<b>a</b>')
  await client.request('DELETE', `/core/v1/sessions/${forked}`)
  assert.deepEqual(await entries(), [])
  await until(async () => (await client.request('GET', `/core/v1/artifacts/${id}/content`)).status === 404, Boolean)
  await client.chat('c', { 'session-id': 't' })
  const { artifact_id: lost } = (await list(client)).artifacts[0]!
  await rm(path.join(settings.dataDir, 'artifacts'), { recursive: true })
  const { status, body } = await client.request('GET', `/core/v1/artifacts/${lost}/content`)
  assert.deepEqual({ status, body: body.body }, { status: 404, body: 'c.html is no longer there.' })
})

test('Artifact list: a file cannot be used as a script or style of a page, by its id or its link', async (t) => {
  const { client, url } = await startWriter(t)
  await client.chat('f', { 'session-id': 's' })
  const [file] = (await list(client)).artifacts
  const content = async (use: string) =>
    (await client.request('GET', `/core/v1/artifacts/${file!.artifact_id}/content`, { headers: { 'sec-fetch-dest': use } })).status
  const link = async (use: string) => (await fetch(new URL(file!.download_url, url), { headers: { 'sec-fetch-dest': use } })).status
  for (const use of ['script', 'style', 'worker', 'serviceworker', 'object', ''])
    assert.deepEqual([await content(use), await link(use)], [403, 403], use)
  for (const use of ['empty', 'document', 'iframe', 'image']) assert.deepEqual([await content(use), await link(use)], [200, 200], use)
})

test('Artifact list: every answer states that its type is not to be guessed', async (t) => {
  const { client } = await startWriter(t)
  for (const path of ['/core/v1/me', '/core/v1/artifacts', '/core/v1/none', '/health'])
    assert.equal((await client.request('GET', path)).headers.get('x-content-type-options'), 'nosniff', path)
})
