import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { browserTest, openConsole } from './browser-fixture.ts'

const kilobyte = 1000

/** Sums the bytes, compressed by gzip, of scripts and styles that a page loads. */
function weigh(page: Page): () => Promise<number> {
  const bodies: Promise<Buffer>[] = []
  page.on('response', (response) => {
    if (/\.(js|css)$/.test(new URL(response.url()).pathname)) bodies.push(response.body())
  })
  return async () => (await Promise.all(bodies)).reduce((sum, body) => sum + gzipSync(body, { level: 9 }).length, 0)
}

browserTest('Console: the composer needs 250 KB of scripts and styles, the first answer 60 KB more', async (t) => {
  const { page, open } = await openConsole(t, { script: { text: '**Hello.**' } })
  const weight = weigh(page)
  await open('/chat')
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.waitFor()
  await page.waitForLoadState('networkidle')
  const atStart = await weight()
  assert.ok(atStart < 250 * kilobyte, `The composer needs ${atStart} bytes.`)

  await question.fill('Hello?')
  await question.press('Enter')
  await page.locator('strong', { hasText: 'Hello.' }).waitFor()
  const added = (await weight()) - atStart
  assert.ok(added < 60 * kilobyte, `The first answer needs ${added} bytes more.`)
  t.diagnostic(`${atStart} bytes, ${added} bytes more with the first answer`)
})
