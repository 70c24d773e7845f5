import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { fakeTool } from '../fixtures/tools.ts'
import { browserTest, openConsole } from './browser-fixture.ts'

async function ask(page: Page, text: string): Promise<void> {
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.fill(text)
  await question.press('Enter')
  await page.getByRole('button', { name: 'Copy answer' }).waitFor()
}

/** Milliseconds until the page has handled a key: a page that hangs takes seconds. */
async function answerMs(page: Page): Promise<number> {
  const question = page.getByRole('textbox', { name: 'Your question' })
  const startedAt = performance.now()
  await question.pressSequentially('still here')
  assert.equal(await question.inputValue(), 'still here')
  return performance.now() - startedAt
}

const bombs: Record<string, string> = {
  '10,000 links in one paragraph': '[a](https://example.com/b) '.repeat(10_000),
  '10,000 paragraphs of links': '[a](https://example.com/b)\n\n'.repeat(10_000),
  'quotes 5,000 deep': `${'>'.repeat(5000)} deep`,
  'lists that nest': Array.from({ length: 400 }, (_, depth) => `${'  '.repeat(depth)}- item`).join('\n'),
  'emphasis that nests': `${'*a **b '.repeat(2000)}${'** *'.repeat(2000)}`,
  'a run of 15,000 stars': `${'*'.repeat(8000)}a${'*'.repeat(7000)}`,
  'brackets that open': '['.repeat(15_000),
}

for (const [name, text] of Object.entries(bombs))
  browserTest(`Chat: the page stays usable with ${name}`, async (t) => {
    const { page, open } = await openConsole(t, { script: { text: text.match(/[^]{1,4000}/g)! } })
    await open('/chat')
    await ask(page, 'Go.')
    assert.ok((await answerMs(page)) < 10_000)
  })

browserTest('Chat: an output of 5 MB and names of 10,000 characters are shown in part', async (t) => {
  const big = fakeTool('big', async () => 'x'.repeat(5_000_000), { maxOutputCharacters: 6_000_000 })
  const { page, open } = await openConsole(t, {
    tools: [big],
    script: [{ calls: [{ name: 'big', arguments: JSON.stringify({ text: 'y'.repeat(10_000) }) }] }, { text: 'Done.' }],
  })
  await open('/chat')
  await ask(page, 'q'.repeat(10_000))
  await page.getByRole('button', { name: /big/ }).click()
  await page
    .getByRole('button', { name: /Show more/ })
    .first()
    .waitFor()
  assert.ok((await answerMs(page)) < 10_000)
  const width = await page.evaluate<number>('document.documentElement.scrollWidth')
  assert.equal(width, 1280, 'nothing makes the page wider')
})

browserTest('Tools: a schema that contains itself is a form whose inner objects open one by one', async (t) => {
  const node = { type: 'object', properties: { word: { type: 'string' }, left: { $ref: '#/$defs/Node' }, right: { $ref: '#/$defs/Node' } } }
  const schema = { type: 'object', properties: { tree: { $ref: '#/$defs/Node' } }, $defs: { Node: node } }
  const { page, open } = await openConsole(t, { tools: [fakeTool('plant', async (input) => JSON.stringify(input), { schema })] })
  await open('/tools/plant')
  await page.getByRole('button', { name: 'Add tree' }).click()
  await page.getByRole('button', { name: 'Add left' }).click()
  await page.getByRole('textbox', { name: 'word' }).last().fill('leaf')
  await page.getByRole('button', { name: 'Remove left' }).click()
  assert.equal(await page.getByRole('textbox', { name: 'word' }).count(), 1)
})
