import assert from 'node:assert/strict'
import { sending, sendTo } from '../fixtures/approvals.ts'
import { browserTest, openConsole } from './browser-fixture.ts'

browserTest('Approvals: after a decision the page says how the run ended, and leads to it', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, {
    tools: [sending().tool],
    script: [sendTo('Bob'), { text: 'The letter is on its way.' }, sendTo('Eve'), { text: 'Then I do not write.' }],
  })
  await service.client.chat('Send Bob a letter.', { 'request-id': 'to-bob' })
  await open('/approvals')
  await page.getByRole('button', { name: 'Approve' }).click()
  const approved = page.getByRole('status', { name: 'Outcome of send' })
  await approved.getByText('send was approved.').waitFor()
  await approved.getByText('The letter is on its way.').waitFor()
  await approved.getByText('answered').waitFor()
  await page.getByRole('heading', { name: 'Nothing waits for a decision' }).waitFor()
  await checkAccessibility()

  await service.client.chat('Send Eve a letter.', { 'request-id': 'to-eve' })
  await page.getByRole('button', { name: 'Reject' }).click()
  await page.getByRole('button', { name: 'Reject' }).last().click()
  await page.getByText('send was rejected.').waitFor()
  await page.getByText('Then I do not write.').waitFor()
  await approved.first().getByRole('button', { name: 'Dismiss' }).click()
  await page.getByText('send was rejected.').waitFor({ state: 'detached' })
  await approved.getByRole('link', { name: 'Open the run' }).click()
  await page.getByRole('heading', { name: 'Run', exact: true }).waitFor()
  assert.match(page.url(), /\/runs\/to-bob$/)
})

browserTest('Approvals: whoever may not read the run learns that its caller sees the rest', async (t) => {
  const approver = { sub: 'boss', roles: ['approver'] }
  const { page, open, service } = await openConsole(t, {
    who: approver,
    tools: [sending({ approval: { by: 'role' } }).tool],
    config: { access: { roles: { approver: ['runs.approve', 'runs.read'] } } },
    script: [sendTo('Bob'), { text: 'Sent.' }],
    allowed: [/status of 404/],
  })
  await service.client.chat('Send Bob a letter.')
  await open('/approvals')
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Its caller sees how the run goes on.').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Open the run' }).count(), 0)
})
