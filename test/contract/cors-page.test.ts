import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, type TestContext } from 'node:test'
import { chromium, type Page } from 'playwright-core'
import { browserTest, executablePath } from '../console/browser-fixture.ts'
import { startService } from '../fixtures/service.ts'

/** A site on an origin of its own; returns its origin. */
async function startSite(t: TestContext): Promise<string> {
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>App</title>'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const browser = chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] }).catch(() => undefined)
after(async () => (await browser)?.close())

/** What the script of a page sees of the service. Each value is a status with what can be read, or the error of `fetch`. */
function callFromPage(page: Page, url: string, key: string): Promise<Record<string, unknown>> {
  const script = async ({ url, key }: { url: string; key: string }) => {
    const headers = { 'x-service-access': key, 'content-type': 'application/json', 'session-id': 'page', 'stix-user': 'ann' }
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'What is 2 + 2?' }] })
    const call = async (path: string, init: RequestInit) => {
      try {
        const response = await fetch(url + path, init)
        const text = await response.text()
        return { status: response.status, session: response.headers.get('session-id'), isRead: text.length > 1 }
      } catch (error) {
        return String(error)
      }
    }
    return {
      json: await call('/core/v1/chain', { method: 'POST', headers, body }),
      stream: await call('/core/v1/chain_streaming', { method: 'POST', headers, body }),
      refusal: await call('/core/v1/chain', { method: 'POST', headers: { ...headers, 'x-service-access': 'wrong' }, body }),
      removal: await call('/core/v1/sessions/page', { method: 'DELETE', headers }),
      cookies: await call('/core/v1/me', { headers, credentials: 'include' }),
    }
  }
  return page.evaluate(script, { url, key })
}

browserTest('CORS: a page on a listed origin chats, streams and reads errors; a page on another origin does not', async (t) => {
  const [listed, other] = [await startSite(t), await startSite(t)]
  const service = await startService(t, { environment: { CORS_ORIGINS: listed } })
  const { key } = await service.key()
  const context = await (await browser)!.newContext()
  t.after(() => context.close())
  const page = await context.newPage()

  await page.goto(listed)
  const read = { status: 200, session: 'page', isRead: true }
  assert.deepEqual(await callFromPage(page, service.url, key), {
    json: read,
    stream: read,
    refusal: { ...read, status: 401 },
    removal: read,
    // No answer allows credentials.
    cookies: 'TypeError: Failed to fetch',
  })

  await page.goto(other)
  const refused = 'TypeError: Failed to fetch'
  const calls = await callFromPage(page, service.url, key)
  assert.deepEqual(calls, { json: refused, stream: refused, refusal: refused, removal: refused, cookies: refused })
})
