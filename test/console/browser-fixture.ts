import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, test, type TestContext } from 'node:test'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import type { KeyClaims } from '../../src/access/keys/keys.ts'
import { startService, type ServiceOptions, type TestService, type Who } from '../fixtures/service.ts'
import { buildConsole } from './console-build.ts'

export const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
/** Time limit of a step in a page, in milliseconds: many browsers and services share a slow machine. */
export const stepMs = 90_000
const isMissing = !existsSync(executablePath) && process.env['CI'] !== 'true'

/** A test in a real browser. It is skipped where there is no Chromium, except in CI. */
export function browserTest(title: string, run: (t: TestContext) => Promise<void>): void {
  void test(title, { skip: isMissing && `There is no browser at ${executablePath}.` }, run)
}

export interface ConsoleOptions extends ServiceOptions {
  /** Who is signed in; `null` opens the console without a session. Default: a user. */
  who?: Who | null
  /** Messages of the browser's console that are no fault, such as a status that the test provokes. */
  allowed?: RegExp[]
  /** Width and height of the page. */
  viewport?: { width: number; height: number }
  colorScheme?: 'light' | 'dark'
  /** A service that runs already, instead of a new one. */
  service?: TestService
  /** Hosts beside the service that pages may reach, such as `127.0.0.1:8000`. */
  hosts?: readonly string[]
}

export interface Console {
  service: TestService
  context: BrowserContext
  page: Page
  /** Opens a path below `/console`, such as `/runs?status=error`. */
  open(path: string): Promise<void>
  /** Fails if axe finds a violation of WCAG 2.2 A or AA on the page. */
  checkAccessibility(): Promise<void>
}

let browser: Promise<Browser> | undefined
after(async () => (await browser)?.close())

/** The browser of a test file: each page has a context of its own in it. */
function launchBrowser(): Promise<Browser> {
  browser ??= chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  return browser
}

const openPages = new WeakMap<TestContext, (() => Promise<void>)[]>()

/**
 * What closes the pages of a test at its end. Hooks run in order of registration: called before the service starts, the pages are closed
 * before the service, whose end they would report.
 */
function pagesOf(t: TestContext): (() => Promise<void>)[] {
  const known = openPages.get(t)
  if (known !== undefined) return known
  const pages: (() => Promise<void>)[] = []
  openPages.set(t, pages)
  t.after(() => Promise.all(pages.map((close) => close())))
  return pages
}

/**
 * Starts a service with a scripted model, builds the console if its sources have changed, and opens a page of Chromium. The test fails
 * at its end if the page requested another host, violated its content security policy, threw an error or logged one.
 */
export async function openConsole(t: TestContext, options: ConsoleOptions = {}): Promise<Console> {
  const browser = await launchBrowser()
  const problems: string[] = []
  let found: string[] = []
  let context: BrowserContext | undefined
  pagesOf(t).push(async () => {
    found = [...problems]
    await context?.close()
  })
  const { who, allowed = [], viewport = { width: 1280, height: 800 }, colorScheme = 'light', hosts = [], ...serviceOptions } = options
  const service = options.service ?? (await startService(t, { consoleFolder: await buildConsole(), ...serviceOptions }))
  // The last hook: one that fails keeps those behind it from running, and the service would stay open.
  t.after(() => assert.deepEqual(found, [], 'the page reports no problem'))
  context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
  context.setDefaultTimeout(stepMs)
  await cutNetwork(context, [new URL(service.url).host, ...hosts], problems)
  if (who !== null) await signIn(context, service, who)
  const page = await context.newPage()
  watch(page, problems, allowed)
  return {
    service,
    context,
    page,
    open: async (path) => void (await page.goto(`${service.url}/console${path}`)),
    checkAccessibility: () => checkAccessibility(page),
  }
}

/** Starts a service that several pages use; `openConsole` takes it as `service`. */
export async function startConsoleService(t: TestContext, options: ServiceOptions = {}): Promise<TestService> {
  pagesOf(t)
  return startService(t, { consoleFolder: await buildConsole(), ...options })
}

async function cutNetwork(context: BrowserContext, hosts: readonly string[], problems: string[]): Promise<void> {
  await context.route('**/*', async (route) => {
    const target = new URL(route.request().url())
    if (hosts.includes(target.host) || target.protocol === 'blob:' || target.protocol === 'data:') return route.continue()
    problems.push(`The page requested ${target.href}`)
    return route.abort()
  })
}

/** Opens a session for the context, as the sign-in page does. A session that the context has is replaced. Returns the claims of the key. */
export async function signIn(context: BrowserContext, service: TestService, who: Who = {}): Promise<KeyClaims> {
  const { key, claims } = await service.key(who)
  const response = await fetch(`${service.url}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: service.url, 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ key }),
  })
  await response.arrayBuffer()
  assert.equal(response.status, 201, 'the key opens a session')
  const cookies = response.headers.getSetCookie().map((text) => /^([^=]+)=([^;]*)/.exec(text)!)
  await context.addCookies(
    cookies.map(([, name, value]) => ({ name: name!, value: value!, url: service.url, httpOnly: true, sameSite: 'Strict' })),
  )
  return claims
}

function watch(page: Page, problems: string[], allowed: readonly RegExp[]): void {
  const note = (text: string) => {
    if (!allowed.some((expression) => expression.test(text))) problems.push(text)
  }
  page.on('pageerror', (error) => note(`Error of the page: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') note(`${message.type()}: ${message.text()} ${message.location().url}`)
  })
  page.on('crash', () => note('The page crashed.'))
}

/** To be evaluated in a page: colours in the middle of a transition have another contrast. */
export const withoutTransitions = `(() => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync('*, ::before, ::after { transition: none !important }')
  document.adoptedStyleSheets.push(sheet)
})()`

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

interface AxeViolation {
  id: string
  help: string
  nodes: { html: string; failureSummary: string }[]
}

async function checkAccessibility(page: Page): Promise<void> {
  await page.evaluate(axeSource)
  const options = JSON.stringify({ runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] })
  const violations = await page.evaluate<AxeViolation[]>(`axe.run(document, ${options}).then((result) => result.violations)`)
  const texts = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}\n  ${html.slice(0, 300)}\n  ${failureSummary}`),
  )
  assert.deepEqual(texts, [])
}
