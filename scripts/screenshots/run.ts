import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { startSample } from './start-sample.ts'

/**
 * Makes the screenshots of the README: `npm run screenshots`. Starts the built service with the sample agent in a temporary folder,
 * signs in as a person would, asks for a chart, and photographs the chat, the run and the configuration in `docs/images/`.
 */
const root = path.join(import.meta.dirname, '../..')
const images = path.join(root, 'docs/images')
const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
const size = { width: 1280, height: 800 }
/** Pictures and charts are drawn after their data has arrived. */
const settleMs = 1_500

const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-screenshots-'))
const sample = await startSample(root, folder)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
try {
  await mkdir(images, { recursive: true })
  const context = await browser.newContext({ viewport: size, deviceScaleFactor: 1.5, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await signIn(page)
  await photographChat(page)
  await photographRun(page)
  await photographConfiguration(page)
} finally {
  await browser.close()
  await sample.stop()
  await rm(folder, { recursive: true, force: true })
}

async function signIn(page: Page): Promise<void> {
  const key = await readFile(path.join(folder, 'data/admin.key'), 'utf8')
  await page.goto(`${sample.url}/console/sign-in`)
  await page.getByLabel('Access key').fill(key.trim())
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('navigation', { name: 'Screens' }).waitFor()
}

/** The chat, with its steps and a chart. */
async function photographChat(page: Page): Promise<void> {
  await page.goto(`${sample.url}/console/chat`)
  const composer = page.getByRole('textbox', { name: 'Your question' })
  await composer.fill('Draw a chart of the sales per region.')
  await composer.press('Enter')
  await page.locator('main img').first().waitFor()
  await page.setViewportSize({ ...size, height: 1240 })
  await page.getByRole('article', { name: 'Question' }).scrollIntoViewIfNeeded()
  await save(page, 'console-chat')
  await page.setViewportSize(size)
}

/** The timeline of the run behind the answer, with its first model call open. */
async function photographRun(page: Page): Promise<void> {
  await page.goto(`${sample.url}/console/runs`)
  await page.getByRole('region', { name: 'Runs' }).getByRole('link').first().click()
  await page
    .getByRole('region', { name: 'Timeline' })
    .getByRole('button', { name: /tokens/ })
    .first()
    .click()
  await save(page, 'console-run')
}

/** The editor of agent.yaml with a change, checked: the difference and its warnings. */
async function photographConfiguration(page: Page): Promise<void> {
  await page.goto(`${sample.url}/console/agent?tab=yaml`)
  await page.locator('.cm-line', { hasText: 'name: Agent Core' }).click()
  await page.keyboard.press('End')
  await page.keyboard.type(' of Alder & Finch')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('region', { name: 'Changes' }).waitFor()
  await save(page, 'console-configuration')
}

async function save(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(settleMs)
  const file = path.join(images, `${name}.png`)
  await page.screenshot({ path: file, animations: 'disabled', caret: 'hide' })
  console.log(path.relative(root, file))
}
