import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { signIn } from '../../test/fixtures/browser.ts'
import { startService } from '../../test/fixtures/service.ts'
import { createFolder, runIn } from './terminal-fixture.ts'

test('without a running service the command says so, and prints no address', async (t) => {
  const folder = await createFolder(t)
  const { code, out, err } = await runIn(folder, ['console'])
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.match(err, /No service of DATA_DIR is running/)
})

test('with --url the code comes from the service, for the key given', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const folder = await createFolder(t)
  const { key: viewer } = await key({ sub: 'bea', roles: ['viewer'] })
  await writeFile(path.join(folder, 'bea.key'), `${viewer}\n`)
  const { code, out } = await runIn(folder, ['console', '--url', url, '--key', '@bea.key'])
  assert.equal(code, 0)
  const [, address, oneTimeCode] = /^(.*)\/console\/sign-in#code=([\w-]{43})\n$/.exec(out) ?? []
  assert.equal(address, url)
  const browser = await signIn(url, { code: oneTimeCode })
  assert.equal((await browser.send('GET', '/core/v1/me')).body.sub, 'bea')
})

test('with --url the key of the data folder is not sent, and a refusal is shown', async (t) => {
  const { url } = await startService(t, { script: {} })
  const folder = await createFolder(t)
  const keyless = await runIn(folder, ['console', '--url', url])
  assert.equal(keyless.code, 2)
  assert.match(keyless.err, /Pass a key for/)
  const wrong = await runIn(folder, ['console', '--url', url, '--key', 'x'])
  assert.equal(wrong.code, 1)
  assert.match(wrong.err, /gave no code: JWT verification failed/)
  const away = await runIn(folder, ['console', '--url', 'http://127.0.0.1:1', '--key', 'x'])
  assert.deepEqual({ code: away.code, out: away.out }, { code: 1, out: '' })
})
