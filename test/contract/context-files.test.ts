import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { startService } from '../fixtures/service.ts'

test('Context files: documents are found by a part of their path, and a chat accepts each', async (t) => {
  const files = {
    'Handbook/Leave.md': '# Leave',
    'handbook/pay.md': '# Pay',
    readme: 'no extension',
    'data/sales.csv': 'a,b\n1,2\n',
    'picture.png': new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 1]),
    '.hidden.md': 'x',
    '.git/config.md': 'x',
  }
  const { client, settings } = await startService(t, { script: { text: 'ok' }, files })
  const outside = await mkdtemp(path.join(os.tmpdir(), 'agent-core-outside-'))
  t.after(() => rm(outside, { recursive: true, force: true }))
  await writeFile(path.join(outside, 'secret.md'), 'secret')
  await symlink(path.join(outside, 'secret.md'), path.join(settings.filesRoot, 'link.md'))
  await symlink(outside, path.join(settings.filesRoot, 'folder'))
  await symlink(path.join(settings.filesRoot, '.hidden.md'), path.join(settings.filesRoot, 'shown.md'))
  await symlink('..', path.join(settings.filesRoot, 'data/loop'))
  await mkdir(path.join(settings.filesRoot, 'empty.md'))
  const search = async (query = '') => (await client.request('GET', `/core/v1/context_files${query}`)).body
  const all = await search()
  assert.deepEqual(all, {
    files: [
      { path: 'Handbook/Leave.md', size: 7, media_type: 'text/markdown' },
      { path: 'data/sales.csv', size: 8, media_type: 'text/csv' },
      { path: 'handbook/pay.md', size: 5, media_type: 'text/markdown' },
      { path: 'readme', size: 12, media_type: 'text/plain' },
    ],
    has_more: false,
  })
  const pathsOf = async (q: string) => (await search(`?q=${encodeURIComponent(q)}`)).files.map((file: { path: string }) => file.path)
  assert.deepEqual(await pathsOf('HANDBOOK/'), ['Handbook/Leave.md', 'handbook/pay.md'])
  assert.deepEqual(await pathsOf('*'), [])
  assert.deepEqual(await pathsOf('../'), [])
  const body = { messages: [{ role: 'user', content: 'read' }], context_files: all.files.map((file: { path: string }) => file.path) }
  assert.equal((await client.request('POST', '/core/v1/chain', { body })).status, 200)
})

test('Context files: at most 100 are listed', async (t) => {
  const files = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`notes/${n}.md`, 'x']))
  const { client } = await startService(t, { script: { text: 'ok' }, files })
  const { body } = await client.request('GET', '/core/v1/context_files?q=notes')
  assert.deepEqual({ count: body.files.length, has_more: body.has_more }, { count: 100, has_more: true })
  const one = await client.request('GET', '/core/v1/context_files?q=notes/77.')
  assert.deepEqual({ count: one.body.files.length, has_more: one.body.has_more }, { count: 1, has_more: false })
  const long = await client.request('GET', `/core/v1/context_files?q=${'x'.repeat(201)}`)
  assert.deepEqual({ status: long.status, loc: long.body.detail[0].loc }, { status: 422, loc: ['query', 'q'] })
})

test('Context files: an uploaded file is named in a chat of its caller alone, and other fields of the form are refused', async (t) => {
  const service = await startService(t, { script: { text: 'ok' } })
  const { key } = await service.key({})
  const upload = async (fields: Record<string, string> = {}) => {
    const body = new FormData()
    body.set('file', new File(['The office closes at five.'], 'hours.md', { type: 'text/markdown' }))
    for (const [name, value] of Object.entries(fields)) body.set(name, value)
    const reply = await fetch(`${service.url}/core/v1/context_files`, { method: 'POST', headers: { 'x-service-access': key }, body })
    return { status: reply.status, body: (await reply.json()) as any }
  }
  const { status, body: file } = await upload()
  assert.deepEqual([status, file.size, file.media_type], [201, 26, 'text/markdown'])
  assert.match(file.path, /^file-/)
  const chat = { messages: [{ role: 'user', content: 'When does the office close?' }], context_files: [file.path] }
  assert.equal((await service.client.request('POST', '/core/v1/chain', { body: chat })).status, 200)
  assert.match(JSON.stringify(service.model.requests[0]!.body.messages), /The office closes at five\./)
  const other = await service.as({ sub: 'bob' })
  assert.equal((await other.request('POST', '/core/v1/chain', { body: chat })).status, 400)
  const refused = await upload({ purpose: 'user_data' })
  assert.deepEqual([refused.status, refused.body.detail[0].loc], [422, ['body', 'purpose']])
})
