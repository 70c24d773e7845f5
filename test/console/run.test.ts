import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { browserTest, openConsole } from './browser-fixture.ts'

browserTest('Run: its question is asked again in a new conversation, and in a copy of the conversation up to the question', async (t) => {
  const long = `Explain this: ${'word '.repeat(2000)}`.trim()
  const script = ({ body }: { body: any }) => ({ text: `You said: ${body.messages.at(-1).content.slice(0, 20)}` })
  const { page, open, service } = await openConsole(t, { script })
  await service.client.chat('first', { 'session-id': 's1' })
  await service.client.chat(long, { 'session-id': 's1', 'request-id': 'r2' })
  await service.client.chat('third', { 'session-id': 's1' })
  const composer = page.getByRole('textbox', { name: 'Your question' })

  await open('/runs/r2')
  await page.getByRole('button', { name: 'Ask again' }).click()
  assert.equal(await valueOf(page), long)
  assert.match(page.url(), /\/console\/chat$/)

  await open('/runs/r2')
  await page.getByRole('button', { name: 'Fork' }).click()
  await page.getByText('You said: first').waitFor()
  assert.equal(await valueOf(page), long)
  assert.equal(await page.getByRole('article', { name: 'Question' }).count(), 1)
  await composer.fill('Another question')
  await composer.press('Enter')
  await page.getByText('You said: Another question').waitFor()
  assert.equal((await service.client.session('s1')).body.messages.length, 6, 'the conversation stays as it was')
})

browserTest('Run: the whole question of a failed run is asked again', async (t) => {
  const long = `Do the impossible: ${'word '.repeat(100)}`.trim()
  const { page, open, service } = await openConsole(t, { script: { status: 400, body: { error: { message: 'No.' } } } })
  await service.client.chat(long, { 'request-id': 'failed' })
  for (const name of ['Ask again', 'Fork']) {
    await open('/runs/failed')
    await page.getByRole('button', { name }).click()
    assert.equal(await valueOf(page), long)
  }
})

browserTest('Run: a run and its conversation open where their ids have colons', async (t) => {
  const { page, open, service } = await openConsole(t, { script: { text: 'Four.' } })
  await service.client.chat('2 + 2?', { 'session-id': 'a:1', 'request-id': 'r:1' })
  await open('/runs')
  await page.getByRole('link', { name: '2 + 2?' }).press('Enter')
  await page.getByRole('main').getByRole('link', { name: 'Conversation' }).press('Enter')
  await page.getByRole('article', { name: 'Question' }).getByText('2 + 2?').waitFor()
})

/** The text of the composer, once there is one. */
async function valueOf(page: Page): Promise<string> {
  await page.locator('textarea[aria-label="Your question"]:not(:empty)').waitFor()
  return page.getByRole('textbox', { name: 'Your question' }).inputValue()
}
