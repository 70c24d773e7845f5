import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { chromium, type Page } from 'playwright-core'
import { installed, serve } from '../fixtures/process.ts'
import { freePort } from '../fixtures/postgres-server.ts'
import { copyExample, exampleTest, makeCheckout, runReadme } from './example.ts'

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const hasBrowser = existsSync(executablePath) || process.env['CI'] === 'true'

exampleTest('ai-sdk-chat: the route streams, and a browser asks twice in one session', async (t) => {
  const checkout = await makeCheckout(t)
  const { url, client } = await serve(t, checkout, {}, undefined, installed)
  const port = await freePort()
  await runReadme(t, await copyExample(checkout, 'ai-sdk-chat', { 8080: Number(new URL(url).port), 3000: port }))
  if (!hasBrowser) return t.diagnostic(`There is no browser at ${executablePath}.`)
  const { page, problems } = await openPage(t, `http://127.0.0.1:${port}`)
  await ask(page, 'What were the total sales by region?')
  await page.getByRole('cell', { name: '114,552.20' }).waitFor()
  await ask(page, 'And only for the North?')
  await page.getByText('The total amount for region North is').waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
  const { body } = await client.request('GET', '/core/v1/sessions')
  const [session] = body.sessions
  assert.equal(session.short_name, 'What were the total sales by region?')
  assert.deepEqual(problems, [])
})

async function openPage(t: TestContext, address: string): Promise<{ page: Page; problems: string[] }> {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  t.after(() => browser.close())
  const page = await browser.newPage({ viewport: { width: 900, height: 700 } })
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  await page.goto(address)
  return { page, problems }
}

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Question').fill(question)
  await page.getByRole('button', { name: 'Send' }).click()
}
