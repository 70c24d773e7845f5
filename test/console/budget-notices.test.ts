import assert from 'node:assert/strict'
import { callOf, fakeTool } from '../fixtures/tools.ts'
import { browserTest, openConsole } from './browser-fixture.ts'

/** A model of 1 USD for a million tokens of input, and 3 of output: this answer costs 0.001 USD. */
const modelFields = { prices: { input: 1, output: 3 } }
const dear = { text: 'Four.', usage: { input: 100, output: 300 } }

browserTest('Chat: a question that a budget cannot pay says which budget, how much is spent, and when it is whole again', async (t) => {
  const { page, open, checkAccessibility } = await openConsole(t, {
    script: dear,
    modelFields,
    config: { budgets: [{ name: 'caller-day', scope: 'caller', window: 'day', limit: { usd: 0.0015 } }] },
    allowed: [/status of 429/],
  })
  await open('/chat')
  const field = page.getByRole('textbox', { name: 'Your question' })
  await field.fill('2 + 2?')
  await field.press('Enter')
  await page.getByText('Four.').waitFor()
  await field.fill('And 3 + 3?')
  await field.press('Enter')
  const notice = page.getByRole('alert')
  await notice.getByText('The budget caller-day is used up: $0.001 of $0.0015 are spent.').waitFor()
  const resets = await notice.getByRole('time').getAttribute('datetime')
  const midnight = new Date()
  midnight.setUTCHours(24, 0, 0, 0)
  assert.equal(resets, midnight.toISOString())
  await checkAccessibility()
})

browserTest('Chat: a budget of a session that is used up is no load that passes: the question is asked once', async (t) => {
  const { page, open } = await openConsole(t, {
    script: dear,
    modelFields,
    config: { budgets: [{ name: 'session', scope: 'session', limit: { usd: 0.0015 } }] },
    allowed: [/status of 429/],
  })
  let requests = 0
  page.on('request', (request) => (requests += Number(request.url().endsWith('/chain_streaming'))))
  await open('/chat')
  const field = page.getByRole('textbox', { name: 'Your question' })
  await field.fill('2 + 2?')
  await field.press('Enter')
  await page.getByText('Four.').waitFor()
  await field.fill('And 3 + 3?')
  await field.press('Enter')
  await page.getByRole('alert').getByText('It does not become whole again: its limit must be raised.').waitFor()
  assert.equal(requests, 2)
})

browserTest('Chat: an answer that a budget has cut short says so', async (t) => {
  const { page, open } = await openConsole(t, {
    script: [{ ...callOf('add', { a: 1 }), text: 'I add.', usage: { input: 100, output: 300 } }],
    modelFields,
    tools: [fakeTool('add', async () => ({ sum: 3 }))],
    config: { budgets: [{ name: 'run', scope: 'run', limit: { usd: 0.0015 } }] },
  })
  await open('/chat')
  const field = page.getByRole('textbox', { name: 'Your question' })
  await field.fill('Add 1 and 2.')
  await field.press('Enter')
  await page.getByText('A budget is used up. This is the best answer that it could pay.').waitFor()
})

browserTest('Run: a model call that a budget could not pay is a step that names the budget and what the call needed', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, {
    script: [{ ...callOf('add', { a: 1 }), text: 'I add.', usage: { input: 100, output: 300 } }],
    modelFields,
    tools: [fakeTool('add', async () => ({ sum: 3 }))],
    config: { budgets: [{ name: 'run-limit', scope: 'run', limit: { usd: 0.0015 } }] },
  })
  await service.client.chat('Add 1 and 2.', { 'request-id': 'short' })
  await open('/runs/short')
  const timeline = page.getByRole('region', { name: 'Timeline' })
  const step = timeline.getByRole('button', { name: /^run-limit/ }).first()
  await step.getByText(/^cannot pay \$0\.000\d+$/).waitFor()
  await step.click()
  await timeline.getByText('The budget run-limit is used up: $0.001 of $0.0015 are spent.').waitFor()
  await timeline.getByText('Needed').waitFor()
  await timeline.getByRole('button', { name: /^scripted/ }).click()
  await timeline.getByText('Reserved before').waitFor()
  await checkAccessibility()
})

const admin = { sub: 'boss', roles: ['admin'] }
/** A first call of 0.001 USD with a tool, which leaves too little for the second one. */
const pausing = {
  script: [{ ...callOf('add', { a: 1 }), text: 'I add.', usage: { input: 100, output: 300 } }, dear],
  modelFields,
  tools: [fakeTool('add', async () => ({ sum: 3 }))],
  config: { budgets: [{ name: 'caller-day', scope: 'caller', window: 'day', limit: { usd: 0.0015 }, on_exceeded: 'pause' }] },
}

browserTest('Approvals: a run that a budget has paused goes on when its limit is raised', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, { ...pausing, who: admin })
  const waiting = await service.client.chat('Add 1 and 2.', { 'request-id': 'paused' })
  assert.equal(waiting.status, 202, waiting.text)
  await open('/approvals')
  const card = page.getByRole('article', { name: /caller-day/ })
  await card.getByText('The budget caller-day is used up.').waitFor()
  await card.getByText(/The run needs at least \$0\.000\d+ to go on\./).waitFor()
  await checkAccessibility()
  await page.emulateMedia({ colorScheme: 'dark' })
  await checkAccessibility()
  const amount = card.getByRole('textbox', { name: 'Raise by USD' })
  await amount.fill('')
  assert.equal(await card.getByRole('button', { name: 'Extend' }).isDisabled(), true)
  await amount.fill('0.01')
  await card.getByRole('button', { name: 'Extend' }).press('Enter')
  const outcome = page.getByRole('status', { name: 'Outcome of caller-day' })
  await outcome.getByText('caller-day was extended.').waitFor()
  await outcome.getByText('Four.').waitFor()
  assert.equal((await service.client.run('paused')).body.status, 'success')
})

browserTest(
  'Chat: a paused run says what it waits for; its caller may end it, and only a key with budgets.write may raise the limit',
  async (t) => {
    const { page, open, checkAccessibility } = await openConsole(t, pausing)
    await open('/chat')
    const field = page.getByRole('textbox', { name: 'Your question' })
    await field.fill('Add 1 and 2.')
    await field.press('Enter')
    const card = page.getByRole('status', { name: 'Budget caller-day' })
    await card.getByText('The budget caller-day is used up.').waitFor()
    await card.getByText('A key with the permission budgets.write can raise the limit.').waitFor()
    assert.equal(await card.getByRole('button', { name: 'Extend' }).count(), 0)
    await checkAccessibility()
    await card.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('A budget is used up. This is the best answer that it could pay.').waitFor()
  },
)
