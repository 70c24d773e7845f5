import assert from 'node:assert/strict'
import type { ModelAnswer } from '../fixtures/model-server.ts'
import { browserTest, openConsole } from './browser-fixture.ts'

/** Answers that wait until they are let go, in order. */
function gated(...answers: ModelAnswer[]) {
  const gates = answers.map(() => Promise.withResolvers<void>())
  return {
    script: answers.map((answer, index) => ({ ...answer, begins: gates[index]!.promise })),
    open: (index: number) => gates[index]!.resolve(),
  }
}

const call = { calls: [{ name: 'calculator', arguments: '{"expression":"1+1"}' }] }

browserTest(
  'Chat: the composer stays open while a run works; messages wait, are delivered at their place, and survive a reload',
  async (t) => {
    const { script, open: letGo } = gated(call, { text: 'Shorter it is.' }, { text: 'And the year before.' })
    const { page, open, service, checkAccessibility } = await openConsole(t, { config: { tools: [{ name: 'calculator' }] }, script })
    await open('/chat')
    const question = page.getByRole('textbox', { name: 'Your question' })
    await question.fill('Tell me all.')
    await question.press('Enter')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await question.fill('Shorter, please.')
    await page.getByRole('button', { name: 'Send now' }).click()
    await page.getByText('Waiting for the next step').waitFor()
    await question.fill('And before?')
    await page.getByRole('button', { name: 'Send after' }).click()
    await page.getByText('Waiting for the end of the answer').waitFor()
    await checkAccessibility()
    letGo(0)
    await page.getByText('Waiting for the next step').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('Waiting for the end of the answer').waitFor()
    assert.equal(await page.getByText('Shorter, please.').count(), 1)
    letGo(1)
    await page.getByText('Shorter it is.').waitFor()
    letGo(2)
    await page.getByText('And the year before.').waitFor()
    await page.getByRole('button', { name: 'Copy answer' }).nth(1).waitFor()
    const messages = page.getByRole('region', { name: 'Messages' })
    await messages.getByText('And before?').waitFor()
    const texts = (await messages.innerText()).replace(/\s+/g, ' ')
    assert.match(texts, /Tell me all\..*calculator.*Shorter, please\..*Shorter it is\..*And before\?.*And the year before\./)
    await page.reload()
    await page.getByText('And the year before.').waitFor()
    const again = (await messages.innerText()).replace(/\s+/g, ' ')
    assert.match(again, /Tell me all\..*calculator.*Shorter, please\..*Shorter it is\..*And before\?.*And the year before\./)
    for (const text of ['Tell me all.', 'Shorter, please.', 'And before?']) assert.equal(await messages.getByText(text).count(), 1, text)
    assert.equal(await page.getByText('This question got no answer.').count(), 0)

    const { runs } = (await service.client.request('GET', '/core/v1/runs')).body
    await open(`/runs/${runs.at(-1).request_id}`)
    await page.getByRole('button', { name: /^Message/ }).click()
    await page.getByLabel('Timeline').getByText('Shorter, please.').waitFor()
  },
)
