import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { startPrefixProxy } from '../fixtures/prefix-proxy.ts'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

const prefix = '/tools/agent'

browserTest('Under a prefix: a proxy that removes it, and says so in x-forwarded-prefix', (t) => usesConsole(t, true))
browserTest('Under a prefix: a proxy that passes it on, and PUBLIC_URL with its path', (t) => usesConsole(t, false))

/** Signs in, navigates, chats and reloads at an address of a conversation, all through a proxy that serves the service under a prefix. */
async function usesConsole(t: TestContext, strips: boolean): Promise<void> {
  const proxy = await startPrefixProxy(t, { prefix, strips })
  const url = proxy.origin + prefix
  const environment: Record<string, string> = strips ? {} : { PUBLIC_URL: url }
  const service = await startConsoleService(t, { script: { text: 'Hello.' }, environment })
  proxy.target(service.url)
  const { page, open, context } = await openConsole(t, { service: { ...service, url }, who: null, allowed: [/status of 401/] })
  const paths: string[] = []
  page.on('request', (request) => paths.push(new URL(request.url()).pathname))

  await open('')
  await page.getByLabel('Access key', { exact: true }).fill((await service.key()).key)
  await page.keyboard.press('Enter')
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.waitFor()
  assert.equal(new URL(page.url()).pathname, `${prefix}/console/chat`)
  const [cookie] = await context.cookies()
  assert.equal(cookie?.path, `${prefix}/`)

  await question.fill('Hello?')
  await question.press('Enter')
  await page.getByText('Hello.').waitFor()
  await page.getByRole('link', { name: 'Runs' }).click()
  await page.getByRole('link', { name: 'Hello?' }).click()
  await page.getByRole('heading', { name: 'Run', exact: true }).waitFor()
  assert.match(new URL(page.url()).pathname, /^\/tools\/agent\/console\/runs\/[\w-]+$/)
  await page.reload()
  await page.getByRole('region', { name: 'Timeline' }).getByRole('button').first().waitFor()
  assert.deepEqual(
    paths.filter((path) => !path.startsWith(`${prefix}/`)),
    [],
    'every request is under the prefix',
  )

  const script = paths.find((path) => path.endsWith('.js'))!
  const { headers } = await fetch(proxy.origin + script, { headers: { 'accept-encoding': 'br' } })
  assert.deepEqual([headers.get('cache-control'), headers.get('content-encoding')], ['public, max-age=31536000, immutable', 'br'])
}
