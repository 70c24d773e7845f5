import assert from 'node:assert/strict'
import { chromium, type Page } from 'playwright-core'
import { startPrefixProxy } from '../fixtures/prefix-proxy.ts'
import { startSampleService } from '../fixtures/sample-service.ts'
import { browserTest, executablePath, stepMs } from './browser-fixture.ts'

const prefix = '/tools/agent'

browserTest('The page to try routes works on the first click, over plain http, under another host name and a prefix', async (t) => {
  const service = await startSampleService(t)
  const proxy = await startPrefixProxy(t, { prefix, strips: true })
  proxy.target(service.url)
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--host-resolver-rules=MAP agents.example 127.0.0.1'],
  })
  t.after(() => browser.close())
  const address = `http://agents.example:${new URL(proxy.origin).port}${prefix}`
  const context = await browser.newContext()
  context.setDefaultTimeout(stepMs)
  const page = await context.newPage()
  const problems: string[] = []
  const note = (text: string) => void problems.push(text)
  page.on('pageerror', ({ message }) => note(message))
  page.on('console', (message) => message.type() === 'error' && note(message.text()))
  page.on('request', (request) => request.url().startsWith(`${address}/`) || request.url().startsWith('data:') || note(request.url()))

  await page.goto(`${address}/docs/api/`)
  assert.equal(await page.title(), 'Agent Core API')
  const key = page.getByLabel('Access key')
  await page.getByText('Requests have no key.').waitFor()
  await key.fill((await service.key({ roles: ['admin'] })).key)
  await key.press('Enter')
  assert.equal(await tryOut(page, 'Chat-postChain', '/core/v1/chain'), 200)

  await page.reload()
  await page.getByText('The key is used in this tab.').waitFor()
  await page.locator('#operations-tag-Sessions').click()
  assert.equal(await tryOut(page, 'Sessions-getSessions', '/core/v1/sessions?limit=45'), 200)
  assert.deepEqual(problems, [])

  const otherTab = await context.newPage()
  await otherTab.goto(`${address}/docs/api/static/page.css`)
  assert.equal(await otherTab.evaluate('sessionStorage.length'), 0)
})

/** Opens an operation, clicks "Try it out" and "Execute", and returns the status of the reply. */
async function tryOut(page: Page, operation: string, path: string): Promise<number> {
  const block = page.locator(`#operations-${operation}`)
  await block.locator('.opblock-summary-control').click()
  await block.getByRole('button', { name: 'Try it out' }).click()
  const replied = page.waitForResponse((response) => response.url().endsWith(path))
  await block.getByRole('button', { name: 'Execute', exact: true }).click()
  return (await replied).status()
}
