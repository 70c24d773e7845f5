import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prefixOf, prefixStripper } from './origin.ts'

const read = (header: string | undefined, configuredPrefix = '') =>
  prefixOf({ server: { configuredPrefix }, headers: header === undefined ? {} : { 'x-forwarded-prefix': header } })

test('the header names the prefix only where PUBLIC_URL has no path', () => {
  assert.equal(read(undefined), '')
  assert.equal(read('/agents'), '/agents')
  assert.equal(read('/a/b.c/~d/e-f_g'), '/a/b.c/~d/e-f_g')
  assert.equal(read('/agents', '/own'), '/own')
})

test('a header that is not a plain path is ignored', () => {
  const refused = [
    ...['', '/', 'agents', '/agents/', '//evil.example', '/a//b', '/..', '/a/../b', '/a/..', '/.', '/./a', '/a/.'],
    ...[
      '/a"onload="x',
      "/a'",
      '/a b',
      '/a\r\nset-cookie: x=1',
      '/a\n',
      '/a?b',
      '/a#b',
      '/a;b',
      '/a%2fb',
      '/a\\b',
      '/é',
      'https://evil.example/a',
    ],
    ...['/1/2/3/4/5/6/7/8/9', '/a, /b', `/${'a'.repeat(300)}`],
  ]
  for (const header of refused) assert.equal(read(header), '', JSON.stringify(header))
})

test('a path loses the prefix; paths that do not begin with it stay', () => {
  const strip = (url: string, header?: string, publicUrl?: string) => {
    const headers = header === undefined ? {} : { 'x-forwarded-prefix': header }
    return prefixStripper(publicUrl)({ url, headers } as never)
  }
  assert.equal(strip('/agents/health', '/agents'), '/health')
  assert.equal(strip('/agents/', '/agents'), '/')
  assert.equal(strip('/agents', '/agents'), '/')
  assert.equal(strip('/agents?a=1', '/agents'), '/?a=1')
  assert.equal(strip('/health', '/agents'), '/health')
  assert.equal(strip('/agentsmith/health', '/agents'), '/agentsmith/health')
  assert.equal(strip('/agents/health'), '/agents/health')
  assert.equal(strip('/agents/health', undefined, 'https://host.example/agents/'), '/health')
  assert.equal(strip('/agents/health', '/agents', 'https://host.example'), '/health')
  assert.equal(strip('/agents/health', '/agents', 'https://host.example/own'), '/agents/health')
})
