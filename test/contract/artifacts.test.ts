import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { createSignedLinks } from '../../src/artifacts/signed-links.ts'
import { until } from '../fixtures/async-client.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import { signingKeyOf, startService, type ServiceOptions } from '../fixtures/service.ts'
import type { Client } from '../fixtures/service-client.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const writeFileCall = (file_name: string, content: string) => callOf('write_file', { file_name, content }).calls[0]!

/** A service with a share folder, and a model that writes these files in its first turn. */
async function startWriter(t: TestContext, files: Record<string, string>, options: ServiceOptions = {}) {
  const share = await mkdtemp(path.join(os.tmpdir(), 'agent-core-share-'))
  t.after(() => rm(share, { recursive: true, force: true }))
  const calls = Object.entries(files).map(([name, content]) => writeFileCall(name, content))
  const service = await startService(t, {
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'written' } : { calls }),
    environment: { ARTIFACT_SHARE_DIR: share },
    ...options,
    config: { tools: [{ name: 'write_file' }], ...options.config },
  })
  return { ...service, share }
}

const download = (client: Client, session: string, message: number | string, artifact: number | string) =>
  client.request('GET', `/core/v1/download_artifact/${message}/${artifact}`, { headers: { 'session-id': session } })

/** Files of sessions and direct executions; drafts are hidden. */
async function foldersIn(root: string): Promise<string[]> {
  return (await readdir(root)).filter((name) => !name.startsWith('.'))
}

test('Artifacts: a written file is listed with the message, and its link works without a key', async (t) => {
  const { client, settings } = await startWriter(t, { 'notes.md': '# Notes\nä', 'Umsätze "1".csv': 'a,b\n' })
  const { body: answer } = await client.chat('write', { 'session-id': 's' })
  const { response_metadata: metadata } = (await client.session('s')).body.messages[1]
  const [first, second] = metadata.generated_artifacts
  assert.deepEqual(
    { ...first, artifact_id: '', created_at: '' },
    {
      artifact_id: '',
      file_name: 'notes.md',
      file_type: 'text/markdown',
      size: 10,
      sha256: hash('sha256', '# Notes\nä'),
      tool: 'write_file',
      created_at: '',
    },
  )
  assert.match(first.created_at, /^\d{4}-.*Z$/)
  assert.equal(second.file_name, 'Umsätze _1_.csv')
  assert.deepEqual(answer.body.intermediate_steps[0].output, {
    artifact_id: first.artifact_id,
    file_name: 'notes.md',
    file_type: 'text/markdown',
    size: 10,
  })

  const { status, body, headers } = await download(client, 's', 1, 0)
  assert.equal(status, 200)
  assert.equal(headers.get('session-id'), 's')
  assert.deepEqual({ ...body.body, download_url: '' }, { download_url: '', file_name: 'notes.md', file_type: 'text/markdown' })
  const file = await fetch(body.body.download_url)
  assert.equal(await file.text(), '# Notes\nä')
  const told = [
    'content-type',
    'content-length',
    'content-disposition',
    'x-content-type-options',
    'content-security-policy',
    'cache-control',
  ]
  assert.deepEqual(
    told.map((name) => file.headers.get(name)),
    ['text/markdown', '10', 'attachment; filename=notes.md', 'nosniff', 'sandbox', 'private, no-store'],
  )
  const { body: other } = await download(client, 's', 1, 1)
  const unusual = await fetch(other.body.download_url)
  assert.match(unusual.headers.get('content-disposition')!, /^attachment; filename=.*; filename\*=UTF-8''Ums%C3%A4tze/i)
  assert.equal(await unusual.text(), 'a,b\n')
  // Names on disk are chosen by the service.
  const [folder] = await foldersIn(path.join(settings.dataDir, 'artifacts'))
  assert.deepEqual(
    new Set(await readdir(path.join(settings.dataDir, 'artifacts', folder!))),
    new Set([first.artifact_id, second.artifact_id]),
  )
})

test('Artifacts: a link serves ranges and HEAD, and nothing but the signed file', async (t) => {
  const { client, settings, url } = await startWriter(t, { 'digits.txt': '0123456789' })
  await client.chat('write', { 'session-id': 's' })
  const link: string = (await download(client, 's', 1, 0)).body.body.download_url
  assert.ok(link.startsWith(`${url}/core/v1/artifacts/`))

  const part = await fetch(link, { headers: { range: 'bytes=2-4' } })
  assert.deepEqual(
    { status: part.status, 'content-range': part.headers.get('content-range'), text: await part.text() },
    { status: 206, 'content-range': 'bytes 2-4/10', text: '234' },
  )
  const behind = await fetch(link, { headers: { range: 'bytes=10-' } })
  assert.deepEqual(
    { status: behind.status, 'content-range': behind.headers.get('content-range') },
    { status: 416, 'content-range': 'bytes */10' },
  )
  const changed = await fetch(link, { headers: { range: 'bytes=2-4', 'if-range': '"another"' } })
  assert.deepEqual({ status: changed.status, text: await changed.text() }, { status: 200, text: '0123456789' })
  const head = await fetch(link, { method: 'HEAD' })
  assert.deepEqual(
    { status: head.status, 'content-length': head.headers.get('content-length'), text: await head.text() },
    { status: 200, 'content-length': '10', text: '' },
  )

  const forged = new URL(link)
  for (const [name, value] of [
    ['name', 'other.html'],
    ['type', 'text/html'],
    ['expires', '99999999999'],
    ['signature', 'AAAA'],
  ] as const) {
    forged.search = new URL(link).search
    forged.searchParams.set(name, value)
    const refused = await fetch(forged)
    assert.equal(refused.status, 403, name)
    assert.match(((await refused.json()) as { body: string }).body, /^RBAC: access denied/)
  }
  for (const search of ['', '?signature=a&signature=b']) {
    forged.search = search
    assert.equal((await fetch(forged)).status, 403, search)
  }
  const elsewhere = link.replace(/artifacts\/[^/]+/, 'artifacts/..%2f..')
  assert.equal((await fetch(elsewhere)).status, 403)

  const secret = (await signingKeyOf(settings)).derive('artifact links')
  const [, folder, id] = /artifacts\/([^/]+)\/([^?]+)/.exec(link)!
  const past = createSignedLinks(
    () => [secret],
    () => Date.now() - 901_000,
  )
  const old = await fetch(url + past.sign({ folder: folder!, id: id!, name: 'digits.txt', type: 'text/plain' }, 900))
  assert.equal(old.status, 410)
})

test('Artifacts: unknown files and files of other callers are 404; administrators read all files of their tenant', async (t) => {
  const { client, as } = await startWriter(t, { 'a.txt': 'x' })
  await client.chat('write', { 'session-id': 's' })
  const places = [
    ['s', 1, 1],
    ['s', 0, 0],
    ['s', 2, 0],
    ['s', 99_999_999_999, 0],
    ['s', 1, 99_999_999_999],
    ['none', 1, 0],
  ] as const
  for (const [session, message, artifact] of places) {
    const { status, body } = await download(client, session, message, artifact)
    assert.deepEqual(
      { status, error_type: body.details.error_type },
      { status: 404, error_type: 'NotFound' },
      `${session} ${message} ${artifact}`,
    )
  }
  for (const who of [{ sub: 'bob' }, { tenant: 'other' }, { tenant: 'other', roles: ['admin'] }]) {
    assert.equal((await download(await as(who), 's', 1, 0)).status, 404)
  }
  const admin = await as({ sub: 'root', roles: ['admin'] })
  assert.equal((await download(admin, 's', 1, 0)).status, 200)
  assert.equal((await download(await as({ roles: ['viewer'] }), 's', 1, 0)).status, 200)

  const unnamed = await client.request('GET', '/core/v1/download_artifact/1/0')
  assert.deepEqual({ status: unnamed.status, loc: unnamed.body.detail[0].loc }, { status: 422, loc: ['header', 'session-id'] })
  for (const [message, artifact] of [
    ['x', 0],
    [-1, 0],
    [1, 1.5],
  ] as const) {
    assert.equal((await download(client, 's', message, artifact)).status, 422, `${message} ${artifact}`)
  }
})

test('Artifacts: a file is shared under the request id, and a second copy beside the first', async (t) => {
  const { client, as, share } = await startWriter(t, { '../../a b.txt': 'shared' })
  await client.chat('write', { 'session-id': 's' })
  const ask = (body: object, headers: Record<string, string> = {}, who = client) =>
    who.request('POST', '/core/v1/share_agent_artifact', { body, headers })
  const place = { message_index: 1, artifact_index: 0, session_id: 's' }

  const first = await ask(place, { 'request-id': 'r1' })
  assert.deepEqual(
    { status: first.status, body: first.body },
    { status: 200, body: { body: { path: path.join(share, 'r1', 'a b.txt'), file_name: 'a b.txt', file_type: 'text/plain' } } },
  )
  assert.equal(await readFile(first.body.body.path, 'utf8'), 'shared')
  const second = await ask(place, { 'request-id': 'r1', 'session-id': 's' })
  assert.match(path.relative(share, second.body.body.path), /^r1-[0-9a-f-]{36}\/a b\.txt$/)

  assert.equal((await ask({ ...place, session_id: 'none' }, { 'session-id': 's' })).status, 200)
  assert.equal((await ask(place, { 'session-id': 'none' })).status, 404)
  assert.equal((await ask({ ...place, artifact_index: 1 })).status, 404)
  assert.equal((await ask(place, {}, await as({ sub: 'bob' }))).status, 404)
  assert.equal((await ask(place, {}, await as({ roles: ['viewer'] }))).status, 403)
  const unnamed = await ask({ message_index: 1, artifact_index: 0 })
  assert.deepEqual({ status: unnamed.status, loc: unnamed.body.detail[0].loc }, { status: 422, loc: ['header', 'session-id'] })
  assert.equal((await ask({ ...place, message_index: 'x' })).status, 422)
  assert.equal((await ask({ ...place, session_id: '../s' })).status, 422)
  assert.equal((await readdir(share)).length, 3)
})

test('Artifacts: a failed copy is a 500 in the error shape without internal details', async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'agent-core-share-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await mkdir(path.join(folder, 'elsewhere'))
  await symlink(path.join(folder, 'elsewhere'), path.join(folder, 'share'))
  const { client } = await startWriter(t, { 'a.txt': 'x' }, { environment: { ARTIFACT_SHARE_DIR: path.join(folder, 'share') } })
  await client.chat('write', { 'session-id': 's' })
  const body = { message_index: 1, artifact_index: 0, session_id: 's' }
  const refused = await client.request('POST', '/core/v1/share_agent_artifact', { body })
  assert.deepEqual(
    { status: refused.status, body: refused.body },
    {
      status: 500,
      body: { body: 'a.txt could not be copied to the share folder.', status_code: 500, details: { error_type: 'Exception' } },
    },
  )
  assert.deepEqual(await readdir(path.join(folder, 'elsewhere')), [])
})

test('Artifacts: files over the limits are refused with an error to the model', async (t) => {
  const config = { limits: { max_artifact_bytes: 10, max_run_artifacts: 1 } }
  const { client } = await startWriter(t, { 'large.txt': 'x'.repeat(11), 'a.txt': 'a', 'b.txt': 'b' }, { config })
  const { body } = await client.chat('write', { 'session-id': 's' })
  assert.deepEqual(
    body.body.intermediate_steps.map(({ output }: { output: { error?: string; file_name?: string } }) => output.error ?? output.file_name),
    ['large.txt has 11 bytes; a file may have 10.', 'a.txt', 'b.txt was not kept: there are 1 files already, and there may be no more.'],
  )
  assert.equal((await client.session('s')).body.messages[1].response_metadata.generated_artifacts.length, 1)
})

test('Artifacts: a file that a tool wrote before it failed is kept', async (t) => {
  const tool = fakeTool('half', async (_input, { artifact }) => {
    await artifact('chart.svg', 'image/svg+xml', Buffer.from('<svg onload="alert(1)"/>'))
    throw new Error('broken')
  })
  const { client } = await startService(t, { tools: [tool], script: [callOf('half'), { text: 'sorry' }] })
  await client.chat('go', { 'session-id': 's' })
  const link = (await download(client, 's', 1, 0)).body.body.download_url
  const file = await fetch(link)
  assert.equal(file.headers.get('content-security-policy'), 'sandbox')
  assert.match(file.headers.get('content-disposition')!, /^attachment/)
})

test('Artifacts: a direct execution answers with links, also when its request is repeated', async (t) => {
  const { client, settings } = await startService(t, { config: { tools: [{ name: 'write_file' }] } })
  const body = { tool_name: 'write_file', tool_input: { file_name: 'a.json', content: '{}' } }
  const execute = () => client.request('POST', '/core/v1/tool/execute', { body, headers: { 'request-id': 'r' } })
  const first = await execute()
  const [file] = first.body.generated_artifacts
  assert.deepEqual(
    { file_name: file.file_name, file_type: file.file_type, fileCount: file.size, tool: file.tool },
    { file_name: 'a.json', file_type: 'application/json', fileCount: 2, tool: 'write_file' },
  )
  assert.deepEqual(Object.keys(first.body).sort(), ['execution_time', 'generated_artifacts', 'output', 'status', 'tool_name'])
  assert.equal(await (await fetch(file.download_url)).text(), '{}')
  const [again] = (await execute()).body.generated_artifacts
  assert.equal(again.artifact_id, file.artifact_id)
  assert.equal(await (await fetch(again.download_url)).text(), '{}')
  assert.equal((await foldersIn(path.join(settings.dataDir, 'artifacts'))).length, 1)
})

test('Artifacts: a file survives kill -9 between its write and the answer', async (t) => {
  const folder = await makeFolder(t)
  const asked = Promise.withResolvers<void>()
  let isSilent = true
  const model = await startModelServer(({ body }) => {
    if (body.messages.at(-1).role !== 'tool') return { calls: [writeFileCall('kept.txt', 'kept')] }
    if (!isSilent) return { text: 'written' }
    asked.resolve()
    return { silentAfter: 0 }
  })
  t.after(() => model.close())
  const llms = { primary: { provider: 'openai-compatible', model: 'scripted', base_url: model.url } }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms, tools: [{ name: 'write_file' }] }))
  const first = await serve(t, folder)
  const body = { messages: [{ role: 'user', content: 'write' }], on_disconnect: 'continue' }
  const ids = { 'request-id': 'r', 'session-id': 's' }
  const lost = first.client.chat(body, ids).catch(() => undefined)
  await asked.promise
  first.child.kill('SIGKILL')
  await first.ended
  await lost
  isSilent = false

  const { client } = await serve(t, folder)
  assert.equal((await client.chat(body, ids)).body.body.output, 'written')
  const { generated_artifacts: files } = (await client.session('s')).body.messages[1].response_metadata
  assert.deepEqual(
    files.map((file: { file_name: string }) => file.file_name),
    ['kept.txt'],
  )
  assert.equal(await (await fetch((await download(client, 's', 1, 0)).body.body.download_url)).text(), 'kept')
})

test('Artifacts: on a full disk the tool fails and leaves no partial file', async (t) => {
  const folder = await makeFolder(t)
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ tools: [{ name: 'write_file' }] }))
  const { client } = await serve(t, folder, {}, 4096)
  const execute = (content: string) =>
    client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'write_file', tool_input: { file_name: 'a.txt', content } } })
  const { status, body } = await execute('x'.repeat(3_000_000))
  assert.deepEqual([status, body.status, body.output], [200, 'error', { error: 'a.txt could not be kept: there is no room left.' }])
  const [made] = await foldersIn(path.join(folder, '.agent-core', 'artifacts'))
  assert.deepEqual(await readdir(path.join(folder, '.agent-core', 'artifacts', made!)), [])
  assert.equal((await execute('small')).body.status, 'success')
})

test('Artifacts: a start removes the files of deleted sessions, and of direct executions after a day', async (t) => {
  const service = await startService(t, {
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'written' } : { calls: [writeFileCall('a.txt', 'a')] }),
    config: { tools: [{ name: 'write_file' }] },
  })
  await service.client.chat('write', { 'session-id': 's' })
  const root = path.join(service.settings.dataDir, 'artifacts')
  const [session] = await foldersIn(root)
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)
  for (const [name, days] of [
    ['01999999-0000-7000-8000-000000000000', 0.1],
    ['01999999-0000-7000-8000-000000000001', 0],
    ['direct-01999999-0000-7000-8000-000000000002', 1.1],
    ['direct-01999999-0000-7000-8000-000000000003', 0.9],
  ] as const) {
    await mkdir(path.join(root, name))
    await utimes(path.join(root, name), daysAgo(days), daysAgo(days))
  }
  await utimes(path.join(root, session!), daysAgo(30), daysAgo(30))
  await service.restart()
  const left = [session, '01999999-0000-7000-8000-000000000001', 'direct-01999999-0000-7000-8000-000000000003']
  await until(async () => (await foldersIn(root)).length <= left.length, Boolean)
  assert.deepEqual(new Set(await foldersIn(root)), new Set(left))
  assert.equal((await download(service.client, 's', 1, 0)).status, 200)
})

test('Sessions: a fork has the files of its messages, and keeps them after the first session is deleted', async (t) => {
  const { client, settings } = await startWriter(t, { 'a.txt': 'kept' })
  await client.chat('write', { 'session-id': 's' })
  await client.chat('again', { 'session-id': 's' })
  const link: string = (await download(client, 's', 1, 0)).body.body.download_url
  const { body: fork } = await client.request('POST', '/core/v1/sessions/s/fork', { body: { message_index: 2 } })
  assert.equal((await client.request('DELETE', '/core/v1/sessions/s')).status, 200)
  const root = path.join(settings.dataDir, 'artifacts')
  await until(async () => (await foldersIn(root)).length <= 1, Boolean)
  assert.equal((await download(client, 's', 1, 0)).status, 404)
  assert.equal((await fetch(link)).status, 404)
  const own = await download(client, fork.session_id, 1, 0)
  assert.equal(await (await fetch(own.body.body.download_url)).text(), 'kept')
  assert.equal((await download(client, fork.session_id, 3, 0)).status, 404)
})
