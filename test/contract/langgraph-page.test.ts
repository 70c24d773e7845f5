import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { after, type TestContext } from 'node:test'
import { chromium } from 'playwright-core'
import { build } from 'rolldown'
import { browserTest, executablePath } from '../console/browser-fixture.ts'
import { sending, sendTo } from '../fixtures/approvals.ts'
import { startService } from '../fixtures/service.ts'

/** `useStream` of the SDK in a page of another origin, in a real browser. */

const browser = chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] }).catch(() => undefined)
after(async () => (await browser)?.close())

async function bundlePage(): Promise<string> {
  const { output } = await build({
    input: path.join(import.meta.dirname, '../fixtures/langgraph-page.mjs'),
    platform: 'browser',
    write: false,
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    output: { format: 'esm', codeSplitting: false },
    logLevel: 'silent',
  })
  return output[0].code
}

async function startSite(t: TestContext, script: string): Promise<string> {
  const page = `<!doctype html><title>App</title><div id="root"></div><script type="module" src="/page.js"></script>`
  const server = createServer(({ url }, response) => {
    const isScript = url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html').end(isScript ? script : page)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

browserTest('LangGraph: `useStream` in a page asks, is interrupted, resumes, and shows the thread after a reload', async (t) => {
  const site = await startSite(t, await bundlePage())
  const { sent, tool } = sending()
  const script = [{ ...sendTo('Bob'), text: 'One moment.' }, { text: 'Done.' }]
  const service = await startService(t, { script, tools: [tool], environment: { CORS_ORIGINS: site } })
  const { key } = await service.key()
  const context = await (await browser)!.newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  await page.addInitScript((given) => Object.assign(globalThis, given), { apiUrl: `${service.url}/langgraph`, apiKey: key })
  await page.goto(site)
  await page.click('#ask')
  await page.waitForSelector('#approve')
  const textsOf = () => page.locator('li').allTextContents()
  assert.deepEqual(await textsOf(), ['human: Write to Bob.', 'ai: One moment.'])
  assert.deepEqual(sent, [])
  await page.click('#approve')
  await page.locator('li').nth(3).waitFor()
  await page.locator('#state', { hasText: 'idle' }).waitFor()
  const whole = ['human: Write to Bob.', 'ai: One moment.', 'tool: sent to Bob', 'ai: Done.']
  assert.deepEqual([await textsOf(), sent], [whole, [{ to: 'Bob' }]])
  await page.reload()
  await page.locator('li').nth(3).waitFor()
  assert.deepEqual([await textsOf(), errors], [whole, []])
})
