import assert from 'node:assert/strict'
import { browserTest, openConsole, signIn } from './browser-fixture.ts'

/** The browser logs each answer with this status. */
const unauthorized = /status of 401/

browserTest('Sign-in: a key opens a session, the page that was asked for follows, and logging out ends it', async (t) => {
  const { page, open, service, context, checkAccessibility } = await openConsole(t, { who: null, allowed: [unauthorized] })
  await open('/memories')
  const field = page.getByRole('textbox', { name: 'Access key' })
  await field.fill('not a key')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText(/JWT verification failed/).waitFor()
  await checkAccessibility()

  const { key } = await service.key({ sub: 'ann' })
  await field.fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Memories', level: 1 }).waitFor()
  assert.ok(page.url().endsWith('/console/memories'))
  assert.equal((await page.content()).includes(key), false)
  assert.doesNotMatch(await page.evaluate<string>('JSON.stringify({ ...localStorage, ...sessionStorage })'), /eyJ/)

  const cookies = await context.cookies()
  await page.getByRole('button', { name: 'ann' }).click()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await field.waitFor()
  await context.addCookies(cookies)
  await open('/memories')
  await field.waitFor()
})

browserTest('Sign-in: a one-time code leaves the address before any request, and replaces a session only when asked to', async (t) => {
  const { page, open, service } = await openConsole(t, { who: { sub: 'bob' } })
  const admin = await service.as({ sub: 'ann', roles: ['user'] })
  const { body } = await admin.request('POST', '/console/code')
  const addresses: string[] = []
  page.on('request', (request) => addresses.push(request.url(), request.headers()['referer'] ?? ''))
  await open(`/sign-in#code=${body.code}`)
  await page.getByText('You are signed in as bob.').waitFor()
  assert.equal(new URL(page.url()).hash, '')
  assert.equal(
    addresses.slice(2).some((address) => address.includes(body.code)),
    false,
  )
  await page.getByRole('button', { name: 'Replace my session' }).click()
  await page.getByRole('button', { name: 'ann' }).waitFor()
})

browserTest('Sign-in: a session that ends in the middle of work is renewed in place, and the work goes on', async (t) => {
  const { page, open, service, context } = await openConsole(t, { allowed: [unauthorized], script: { text: 'Here you are.' } })
  await open('/chat')
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.fill('A long question that took an hour to write.')
  await context.clearCookies()
  await question.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.waitFor()
  const { key } = await service.key()
  await dialog.getByRole('textbox', { name: 'Access key' }).fill(key)
  await dialog.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Here you are.').waitFor()
  assert.equal(await page.getByRole('article', { name: 'Question' }).innerText(), 'A long question that took an hour to write.')
})

browserTest('Sign-in: another user who signs in again sees and sends nothing of the user before', async (t) => {
  const { page, open, service, context } = await openConsole(t, { allowed: [unauthorized], script: { text: 'No.' } })
  await open('/chat')
  await page.getByRole('textbox', { name: 'Your question' }).fill('A secret of ann.')
  await context.clearCookies()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Sign in again' }).waitFor()
  await signIn(context, service, { sub: 'eve' })
  const { key } = await service.key({ sub: 'eve' })
  await page.getByRole('textbox', { name: 'Access key' }).fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'eve' }).waitFor()
  assert.equal(await page.getByText('A secret of ann.').count(), 0)
  assert.equal(service.model.requests.length, 0)
})

browserTest('Sign-in: a viewer sees less', async (t) => {
  const { page, open } = await openConsole(t, { who: { sub: 'vic', roles: ['viewer'] } })
  await open('/chat')
  await page.getByText(/to ask, you need a key/i).waitFor()
  assert.equal(await page.getByRole('textbox', { name: 'Your question' }).count(), 0)
  await open('/logs')
  await page.getByText('Your key does not permit this').waitFor()
})
