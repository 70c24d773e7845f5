import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { pageGroups, readPage } from '../../docs/.vitepress/pages.ts'
import { buildDocumentation } from '../../scripts/build/documentation.ts'
import { makeFolder } from '../fixtures/process.ts'
import { startService } from '../fixtures/service.ts'

const root = path.join(import.meta.dirname, '../..')
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

test('Documentation: pages, their Markdown and the list for programs are public, under every prefix', async (t) => {
  const { url } = await startService(t, { script: {}, documentationFolder: await buildDocumentation(root) })
  const get = (target: string, headers: Record<string, string> = {}) => fetch(url + target, { headers, redirect: 'manual' })

  for (const [target, location] of [
    ['/docs', '/docs/'],
    ['/docs/concepts/run/', '/docs/concepts/run'],
    ['/docs/concepts/run.html', '/docs/concepts/run'],
    ['/docs/index.html', '/docs/'],
  ] as const) {
    const reply = await get(target)
    assert.deepEqual([reply.status, reply.headers.get('location')], [302, location], target)
  }
  assert.equal((await get('/docs', { 'x-forwarded-prefix': '/team' })).headers.get('location'), '/team/docs/')

  for (const [prefix, target] of [
    ['', '/docs/'],
    ['/team/agents', '/docs/'],
    ['/team/agents', '/team/agents/docs/concepts/run'],
  ] as const) {
    const reply = await get(target, { ...browser, ...(prefix && { 'x-forwarded-prefix': prefix }) })
    const html = await reply.text()
    assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'text/html; charset=utf-8'], target)
    const addresses = [...html.matchAll(/ (?:href|src)="(\/[^"]*)"/g)].map(([, address]) => address!)
    assert.ok(addresses.length > 5)
    assert.deepEqual(
      addresses.filter((address) => !address.startsWith(`${prefix}/docs/`)),
      [],
    )
    for (const address of addresses.filter((name) => name.includes('/assets/'))) {
      const file = await get(address, prefix ? { 'x-forwarded-prefix': prefix } : {})
      assert.deepEqual([file.status, file.headers.get('cache-control')], [200, 'public, max-age=31536000, immutable'], address)
      await file.arrayBuffer()
    }
    const again = await get(target, { 'if-none-match': reply.headers.get('etag')!, ...(prefix && { 'x-forwarded-prefix': prefix }) })
    assert.deepEqual([again.status, await again.text()], [304, ''])
  }

  const text = await get('/docs/concepts/run.md')
  assert.deepEqual([text.status, text.headers.get('content-type')], [200, 'text/markdown; charset=utf-8'])
  assert.match(await text.text(), /^# /)
  const list = await (await get('/docs/llms.txt')).text()
  assert.match(list, /^# Agent Core\n\n> .+\n\n## Start\n\n- \[.+\]\(start\/quick-start\.md\): /)
  for (const [, name] of list.matchAll(/\]\(([^)]+\.md)\)/g)) assert.equal((await get(`/docs/${name}`)).status, 200, name)
  assert.ok((await (await get('/docs/llms-full.txt')).text()).length > list.length)
})

test('Documentation: a page runs its own scripts only', async (t) => {
  const { url } = await startService(t, { script: {}, documentationFolder: await buildDocumentation(root) })
  const { headers } = await fetch(`${url}/docs/`)
  const policy = headers.get('content-security-policy')!
  assert.match(policy, /^default-src 'none'; script-src 'self' 'sha256-[\w+/=]+' 'sha256-[\w+/=]+'; /)
  assert.doesNotMatch(policy, /script-src[^;]*unsafe|https?:|\*|upgrade-insecure/)
  assert.match(policy, /frame-ancestors 'none'; base-uri 'none'; form-action 'none'$/)
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
})

test('Documentation: what is not there is 404, and no path of a request reaches the disk', async (t) => {
  const { url } = await startService(t, { script: {}, documentationFolder: await buildDocumentation(root) })
  for (const name of ['nothing', 'assets/nothing.js', 'script-hashes.json', '..%2f..%2fpackage.json', 'index.md.br', 'decisions/README']) {
    const reply = await fetch(`${url}/docs/${name}`)
    assert.equal(reply.status, 404, name)
    assert.equal(((await reply.json()) as any).details.error_type, 'NotFound')
  }
  const page = await fetch(`${url}/docs/nothing`, { headers: browser })
  assert.deepEqual([page.status, page.headers.get('content-type')], [404, 'text/html; charset=utf-8'])
  assert.equal((await fetch(`${url}/docs/`, { method: 'POST' })).status, 405)
})

test('Documentation: without a build the answer names the command that builds', async (t) => {
  const { url } = await startService(t, { script: {}, documentationFolder: path.join(import.meta.dirname, 'none') })
  const reply = await fetch(`${url}/docs/`)
  const { body, details } = (await reply.json()) as any
  assert.deepEqual([reply.status, details.error_type], [503, 'DocumentationNotBuilt'])
  assert.match(body, /"npm run build"/)
  const shown = await fetch(`${url}/docs/`, { headers: browser })
  assert.deepEqual([shown.status, shown.headers.get('content-type')], [503, 'text/html; charset=utf-8'])
})

test('Documentation: a newer build is served without a restart', async (t) => {
  const folder = path.join(await makeFolder(t), 'docs')
  const { url } = await startService(t, { script: {}, documentationFolder: folder })
  assert.equal((await fetch(`${url}/docs/`)).status, 503)
  for (const version of ['one', 'two']) {
    await rm(folder, { recursive: true, force: true })
    await mkdir(path.join(folder, 'assets'), { recursive: true })
    await writeFile(path.join(folder, 'script-hashes.json'), '[]')
    await writeFile(path.join(folder, `assets/${version}.js`), `'${version}'`)
    await writeFile(path.join(folder, 'index.html'), `<p>${version}</p>`)
    assert.equal(await (await fetch(`${url}/docs/`)).text(), `<p>${version}</p>`)
    assert.equal(await (await fetch(`${url}/docs/assets/${version}.js`)).text(), `'${version}'`)
  }
  assert.equal((await fetch(`${url}/docs/assets/one.js`)).status, 404)
})

test('Documentation: no built file loads anything from another host', async () => {
  const folder = await buildDocumentation(root)
  const loading = /(?:\bsrc=|<link [^>]*href=|url\(|@import |\bfrom ?|import\()["']?(?:https?:)?\/\/[^"' )]+/g
  const faults = globSync('**/*.{html,js,css}', { cwd: folder }).flatMap((name) =>
    (readFileSync(path.join(folder, name), 'utf8').match(loading) ?? []).map((text) => `${name}: ${text}`),
  )
  assert.deepEqual(faults, [])
})

test('Documentation: every page is in the list, and has a title and a description', () => {
  const files = globSync('**/*.md', { cwd: path.join(import.meta.dirname, '../../docs'), exclude: (name) => name === 'decisions' })
  const listed = ['index', ...pageGroups.flatMap(({ pages }) => pages)]
  assert.deepEqual(
    files.map((file) => file.replace(/\.md$/, '')).filter((name) => !listed.includes(name)),
    [],
    'a page that no navigation leads to',
  )
  for (const name of listed) assert.ok(readPage(name), `docs/${name}.md is missing`)
  const headless = files.filter((file) => file !== 'index.md' && !/^# /m.test(readFileSync(path.join(root, 'docs', file), 'utf8')))
  assert.deepEqual(headless, [], 'a page without a heading')
})
