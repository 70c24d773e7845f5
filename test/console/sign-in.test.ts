import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import type { TestService, Who } from '../fixtures/service.ts'
import { browserTest, openConsole, signIn, startConsoleService } from './browser-fixture.ts'

const bob: Who = { sub: 'bob', roles: ['admin'] }
/** Browsers log each 401. */
const unauthorized = [/status of 401/]

browserTest('Sign-in, in a browser', async (t) => {
  const service = await startConsoleService(t, { script: { text: 'Hello.' } })
  const cases = {
    byKey,
    byCode,
    byCodeInAnOpenPage,
    replacesAfterAQuestion,
    endsInTheMiddle,
    anotherUserSignsIn,
    refusesForeignPages,
    refusesForgedReplies,
    viewerSeesLess,
  }
  for (const [name, run] of Object.entries(cases)) await t.test(name, (t) => run(t, service))
})

async function byKey(t: TestContext, service: TestService): Promise<void> {
  const { page, context, open, checkAccessibility } = await openConsole(t, { service, who: null, allowed: unauthorized })
  await open('/runs?status=error')
  const field = page.getByLabel('Access key', { exact: true })
  await field.fill('no key')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText(/JWT verification failed/).waitFor()
  await checkAccessibility()
  const { key } = await service.key(bob)
  await field.fill(key)
  await field.press('Enter')
  await page.getByRole('heading', { name: 'Runs' }).waitFor()
  assert.equal(new URL(page.url()).search, '?status=error', 'the page that was asked for opens')
  assert.equal(await page.evaluate('document.cookie'), '')
  assert.doesNotMatch(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])'), new RegExp(key.slice(0, 20)))

  const [cookie] = await context.cookies()
  await page.getByRole('button', { name: 'bob' }).click()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await field.waitFor()
  assert.deepEqual(await context.cookies(), [])
  const headers = { cookie: `${cookie!.name}=${cookie!.value}`, 'sec-fetch-site': 'same-origin' }
  assert.equal((await fetch(`${service.url}/core/v1/me`, { headers })).status, 401, 'the session has ended on the server')
}

/** The address of the sign-in page with a one-time code for a caller. */
async function addressFor(service: TestService, who: Who): Promise<string> {
  const { body } = await (await service.as(who)).request('POST', '/console/code')
  return `/sign-in#code=${body.code}`
}

async function byCode(t: TestContext, service: TestService): Promise<void> {
  const { page, open, context } = await openConsole(t, { service, who: null, allowed: unauthorized })
  await page.addInitScript('const own = fetch; fetch = (...all) => ((window.hashes ??= []).push(location.hash), own(...all))')
  const address = await addressFor(service, bob)
  await open(address)
  await page.getByRole('button', { name: 'bob' }).waitFor()
  const hashes = await page.evaluate<string[]>('window.hashes')
  assert.ok(hashes.length > 1 && hashes.every((hash) => hash === ''), 'the code leaves the address before any request')
  assert.doesNotMatch(page.url(), /code/)
  await page.goBack().catch(() => null)
  assert.doesNotMatch(page.url(), /code/)

  await context.clearCookies()
  await page.goto('about:blank')
  await open(address)
  await page.getByText('was used before').waitFor()
  await page.getByRole('button', { name: 'Sign in another way' }).click()
  await page.getByLabel('Access key', { exact: true }).waitFor()
}

/** A link that is opened in the tab of the sign-in page changes the fragment only: no page is loaded. */
async function byCodeInAnOpenPage(t: TestContext, service: TestService): Promise<void> {
  const { page, open } = await openConsole(t, { service, who: null, allowed: unauthorized })
  await open('/sign-in')
  await page.getByLabel('Access key', { exact: true }).waitFor()
  await open(await addressFor(service, bob))
  await page.getByRole('button', { name: 'bob' }).waitFor()
  assert.doesNotMatch(page.url(), /code/)
}

async function replacesAfterAQuestion(t: TestContext, service: TestService): Promise<void> {
  const { page, open } = await openConsole(t, { service, who: { sub: 'ann' } })
  const address = await addressFor(service, bob)
  await open(address)
  await page.getByText('You are signed in as ann.').waitFor()
  await page.getByRole('button', { name: 'Stay signed in as ann' }).click()
  await page.getByRole('button', { name: 'ann' }).waitFor()

  await open(address)
  await page.getByRole('button', { name: 'Replace my session' }).click()
  await page.getByRole('button', { name: 'bob' }).waitFor()
}

async function endsInTheMiddle(t: TestContext, service: TestService): Promise<void> {
  const { page, open, context, checkAccessibility } = await openConsole(t, { service, who: null, allowed: unauthorized })
  const claims = await signIn(context, service, { sub: 'eva' })
  await open('/chat')
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.fill('half a thought')
  await service.revoke(claims)
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.waitFor()
  await checkAccessibility()
  await dialog.getByLabel('Access key', { exact: true }).fill((await service.key({ sub: 'eva' })).key)
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  assert.equal(await question.inputValue(), 'half a thought')
  await question.press('Enter')
  await page.getByText('Hello.').waitFor()
}

async function anotherUserSignsIn(t: TestContext, service: TestService): Promise<void> {
  const { page, open, context } = await openConsole(t, { service, allowed: unauthorized })
  await open('/chat')
  await page.getByRole('textbox', { name: 'Your question' }).fill('A secret of ann.')
  await context.clearCookies()
  const asked = service.model.requests.length
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
  const { key } = await service.key({ sub: 'eve' })
  await page.getByRole('textbox', { name: 'Access key' }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'eve' }).waitFor()
  assert.equal(await page.getByText('A secret of ann.').count(), 0)
  assert.doesNotMatch(page.url(), /[0-9a-f]{8}-/, 'the address does not name the session of ann')
  assert.equal(service.model.requests.length, asked)
}

/** A page on another port is of the same site: the browser sends it the cookie, and only the service can refuse. */
async function refusesForeignPages(t: TestContext, service: TestService): Promise<void> {
  const foreign = createServer((_, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Foreign</title>'),
  )
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve))
  t.after(() => foreign.close().closeAllConnections())
  const host = `127.0.0.1:${(foreign.address() as AddressInfo).port}`
  const { page: own, open, context } = await openConsole(t, { service, who: bob, hosts: [host] })
  await open('/chat')
  const page = await context.newPage()
  await page.goto(`http://${host}/`)

  const seen: { path: string | undefined; status: number; cookie: string; site: string | string[] | undefined }[] = []
  service.service.app.server.on('request', ({ url, headers: { cookie = '', 'sec-fetch-site': site } }, response) => {
    if (site !== 'same-origin') response.on('close', () => seen.push({ path: url, status: response.statusCode, cookie, site }))
  })
  for (const mode of ['cors', 'no-cors']) {
    const fetched = `fetch('${service.url}/core/v1/me', { credentials: 'include', mode: '${mode}' }).then((reply) => reply.text(), () => '')`
    assert.equal(await page.evaluate(fetched), '', 'the foreign page reads nothing')
  }
  const { key } = await service.key({ sub: 'mallory' })
  await postForm(page, `${service.url}/console/session`, JSON.stringify({ key, ignored: '' }))
  await page.goto(`http://${host}/`)
  await postForm(page, `${service.url}/core/v1/chain`, JSON.stringify({ messages: [{ role: 'user', content: 'Hello.' }], ignored: '' }))
  assert.deepEqual(
    seen.map(({ path, status, site }) => [path, status, site]),
    [
      ...['me', 'me'].map((name) => [`/core/v1/${name}`, 403, 'same-site']),
      ['/console/session', 403, 'same-site'],
      ['/core/v1/chain', 403, 'same-site'],
    ],
  )
  assert.ok(
    seen.every(({ cookie }) => cookie.includes('agent_core_')),
    'the browser sends the cookie to other ports',
  )
  await page.goto(`http://${host}/`)
  await page.evaluate(`document.body.innerHTML = '<iframe src="${service.url}/console/chat"></iframe>'`)
  const frame = page.frameLocator('iframe')
  await page.waitForResponse(`${service.url}/console/chat`).catch(() => null)
  assert.equal(await frame.locator('#root').count(), 0, 'the console is not shown in a frame')

  await own.reload()
  await own.getByRole('button', { name: 'bob' }).waitFor()
}

/** Submits a form without a script of its own: `text/plain` puts the JSON around the `=` between name and value. */
async function postForm(page: Page, action: string, json: string): Promise<void> {
  const [name, value] = json.split(/(?<="ignored":")/)
  await page.evaluate(`((action, name, value) => {
    const form = Object.assign(document.createElement('form'), { action, method: 'post', enctype: 'text/plain' })
    form.append(Object.assign(document.createElement('input'), { name, value }))
    document.body.append(form)
    form.submit()
  })(${JSON.stringify(action)}, ${JSON.stringify(name)}, ${JSON.stringify(value)})`)
  await page.waitForURL(action)
}

async function viewerSeesLess(t: TestContext, service: TestService): Promise<void> {
  const screensOf = async (who: Who) => {
    const { page, open } = await openConsole(t, { service, who })
    await open('/chat')
    const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link')
    await links.first().waitFor()
    return { page, open, links }
  }
  const admin = await screensOf(bob)
  const { page, open, links } = await screensOf({ sub: 'vic', roles: ['viewer'] })
  await page.getByText('Your key reads conversations.').waitFor()
  await admin.links.getByText('Metrics', { exact: true }).waitFor()
  const names = await links.allTextContents()
  // Some screens are listed when the page knows that they are in use.
  for (const name of names) await admin.links.getByText(name, { exact: true }).waitFor()
  for (const name of ['Keys', 'Metrics', 'Health']) assert.ok(!names.includes(name), name)
  assert.ok(names.includes('Runs'), names.join())
  assert.equal(await page.getByRole('textbox', { name: 'Your question' }).count(), 0)
  await open('/metrics')
  await page.getByRole('heading', { name: 'Your key does not permit this' }).waitFor()
  await page.getByText('This page needs observability.read.').waitFor()
}

async function refusesForgedReplies(t: TestContext, service: TestService): Promise<void> {
  const { page, open } = await openConsole(t, { service, who: null, allowed: unauthorized })
  await open('/sign-in?error=access_denied&error_description=Call%20evil.example')
  await page.getByText('This sign-in was not begun in this tab.').waitFor()
  assert.equal(await page.getByText('evil.example').count(), 0)
}
