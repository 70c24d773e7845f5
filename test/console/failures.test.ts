import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { sending, sendTo } from '../fixtures/approvals.ts'
import { startPrefixProxy } from '../fixtures/prefix-proxy.ts'
import { browserTest, openConsole, startConsoleService } from './browser-fixture.ts'

/** What browsers log about statuses and connections that these tests provoke. */
const allowed = [/Failed to load resource/]

async function ask(page: Page, text: string): Promise<void> {
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.fill(text)
  await question.press('Enter')
}

browserTest('Failures: a banner says that the service is dead, and everything goes on when it is back', async (t) => {
  const proxy = await startPrefixProxy(t)
  const service = await startConsoleService(t, { script: { text: 'Hello.' }, environment: { PUBLIC_URL: proxy.origin } })
  proxy.target(service.url)
  const { page, open } = await openConsole(t, { service: { ...service, url: proxy.origin }, allowed })
  await open('/chat')
  await ask(page, 'first')
  await page.getByText('Hello.').waitFor()
  await page.getByRole('button', { name: 'Copy answer' }).waitFor()
  await service.close(0)
  // Another test may get the port of this service.
  proxy.target('http://127.0.0.1:1')
  const banner = page.getByText('The service cannot be reached.')
  await banner.waitFor()
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.fill('second')
  assert.ok(await page.getByText('Hello.').isVisible(), 'what was loaded stays')

  await service.restart()
  proxy.target(service.url)
  await banner.waitFor({ state: 'detached' })
  assert.equal(await question.inputValue(), 'second')
  await question.press('Enter')
  await page.getByText('Hello.').nth(1).waitFor()
})

browserTest('Failures: too many requests wait, a failed run says why, a late decision changes nothing', async (t) => {
  const reason = 'This model has no balance.'
  const script = [{ status: 400, body: { error: { message: reason } } }, sendTo('Bob'), { text: 'Sent.' }]
  const { page, open, service } = await openConsole(t, { script, tools: [sending().tool], allowed })
  await page.route('**/core/v1/sessions?*', (route) => route.fulfill({ status: 429, headers: { 'retry-after': '1' }, json: {} }), {
    times: 1,
  })
  await open('/chat')
  await page.getByText('Conversations stay here.').waitFor()

  await ask(page, 'first')
  const alert = page.getByRole('alert')
  await alert.getByText(reason).waitFor()
  await page.getByRole('button', { name: 'Ask again' }).click()
  await page.getByRole('button', { name: 'Approve' }).waitFor()

  // The page does not learn that somebody else has decided.
  const { body } = await service.client.request('GET', '/core/v1/approvals')
  await page.route('**/core/v1/approvals?*', (route) => route.fulfill({ json: body }))
  await page.route('**/core/v1/approvals', (route) => route.fulfill({ json: body }))
  const [{ request_id: run, tool_call_id }] = body.approvals
  await service.client.request('POST', `/core/v1/runs/${run}/approvals`, { body: { tool_call_id, decision: 'approve' } })
  await page
    .getByRole('button', { name: 'Approve' })
    .click({ timeout: 5000 })
    .catch(() => undefined)
  await page.getByText('Sent.').waitFor()
})
