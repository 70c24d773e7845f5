import assert from 'node:assert/strict'
import type { ModelScript } from '../fixtures/model-server.ts'
import { browserTest, openConsole } from './browser-fixture.ts'

const words = Array.from({ length: 60 }, (_, index) => `word${index} `)

/** Answers slowly, one word at a time. */
const slowly: ModelScript = { text: words, pauseMs: 60 }

browserTest('Chat: a running answer and a draft survive a reload, and nothing of the answer is lost or doubled', async (t) => {
  const { page, open, service } = await openConsole(t, { script: slowly })
  await open('/chat')
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.fill('Count for me.')
  await question.press('Enter')
  await page.getByText('word5 ').waitFor()
  assert.match(page.url(), /\/console\/chat\/[\w-]+$/)
  await question.fill('half a thought')
  await page.reload()

  await page.getByRole('button', { name: 'Stop' }).waitFor()
  assert.equal(await question.inputValue(), 'half a thought')
  await page.getByText('word59').waitFor()
  await page.getByRole('button', { name: 'Copy answer' }).waitFor()
  const answer = await page.getByRole('article', { name: 'Answer' }).innerText()
  assert.deepEqual(
    answer.match(/word\d+/g),
    words.map((word) => word.trim()),
  )
  assert.equal(await page.getByRole('article', { name: 'Question' }).count(), 1)
  assert.equal(service.model.requests.length, 1, 'the model was asked once')
})

browserTest('Chat: a call is approved in place, with a changed input, and the answer goes on', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, {
    config: { tools: [{ name: 'write_file', type: 'write_file', approval: 'required' }] },
    script: [{ calls: [{ name: 'write_file', arguments: '{"file_name":"a.txt","content":"old"}' }] }, { text: 'The file is written.' }],
  })
  await open('/chat')
  const question = page.getByRole('textbox', { name: 'Your question' })
  await question.fill('Write a file.')
  await question.press('Enter')
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Change input' }).click()
  await page.getByRole('textbox', { name: 'content' }).fill('new')
  await checkAccessibility()
  await page.getByRole('button', { name: 'Approve with this input' }).click()
  await page.getByText('The file is written.').waitFor()
  const last = service.model.requests.at(-1)!.body.messages.at(-1)
  assert.equal(last.role, 'tool')

  await page.getByRole('button', { name: /^a\.txt/ }).click()
  await page.getByRole('region', { name: 'a.txt' }).getByText('new', { exact: true }).waitFor()
})

browserTest('Chat: a rejected call is told to the model with its reason', async (t) => {
  const { page, open, service } = await openConsole(t, {
    config: { tools: [{ name: 'write_file', type: 'write_file', approval: 'required' }] },
    script: [{ calls: [{ name: 'write_file', arguments: '{"file_name":"a.txt","content":"x"}' }] }, { text: 'Then not.' }],
  })
  await open('/chat')
  await page.getByRole('textbox', { name: 'Your question' }).fill('Write a file.')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Reject' }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill('Not on a Sunday.')
  await page.getByRole('button', { name: 'Reject' }).click()
  await page.getByText('Then not.').waitFor()
  assert.match(JSON.stringify(service.model.requests.at(-1)!.body.messages), /Not on a Sunday\./)
})

browserTest('Chat: an edited question goes on in a copy, and the conversation stays as it was', async (t) => {
  const { page, open, service } = await openConsole(t, { script: ({ body }) => ({ text: `You said: ${body.messages.at(-1).content}` }) })
  await open('/chat')
  const question = page.getByRole('textbox', { name: 'Your question' })
  for (const text of ['first', 'second']) {
    await question.fill(text)
    await question.press('Enter')
    await page.getByText(`You said: ${text}`).waitFor()
    await page.getByRole('button', { name: 'Send' }).waitFor()
  }
  const original = page.url().split('/').at(-1)!
  await page.getByRole('article', { name: 'Question' }).nth(1).hover()
  await page.getByRole('button', { name: 'Edit question' }).nth(1).click()
  await page.getByRole('textbox', { name: 'Edit the question' }).fill('third')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await page.getByText('You said: third').waitFor()

  assert.notEqual(page.url().split('/').at(-1), original)
  const articles = page.getByRole('article', { name: 'Question' })
  assert.deepEqual([await articles.count(), await page.getByText('You said: first').count()], [2, 1])
  const { body } = await service.client.session(original)
  assert.deepEqual(
    body.messages.map(({ content }: { content: string }) => content),
    ['first', 'You said: first', 'second', 'You said: second'],
  )
})

browserTest('Chat: Stop cancels the run, and keeps what there was', async (t) => {
  const { page, open, service } = await openConsole(t, { script: { ...slowly, pauseMs: 150 } })
  await open('/chat')
  await page.getByRole('textbox', { name: 'Your question' }).fill('Count for me.')
  await page.keyboard.press('Enter')
  await page.getByText('word3 ').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByText('Stopped.').waitFor()
  assert.match(await page.getByRole('article', { name: 'Answer' }).innerText(), /word3/)
  assert.equal(await service.model.requests[0]!.closedEarly, true)
})

browserTest('Chat: what a model says is text: no script runs, no picture of another host is loaded', async (t) => {
  const text =
    '<img src=x onerror="window.broken=1"><script>window.broken=1</script>\n\n![p](https://evil.example/p.png)\n\n[x](javascript:window.broken=1)'
  const { page, open, checkAccessibility } = await openConsole(t, { script: { text } })
  await open('/chat')
  await page.getByRole('textbox', { name: 'Your question' }).fill('<b onclick="window.broken=1">Hello</b>')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: /evil\.example/ }).waitFor()
  await page.getByText('<script>').first().waitFor()
  await checkAccessibility()
  assert.equal(await page.evaluate('window.broken'), undefined)
})

browserTest('Chat: a lost connection is announced, and the answer goes on when the service is back', async (t) => {
  const { page, open, context, service } = await openConsole(t, { script: slowly, allowed: [/ERR_INTERNET_DISCONNECTED/] })
  await open('/chat')
  await page.getByRole('textbox', { name: 'Your question' }).fill('Count for me.')
  await page.keyboard.press('Enter')
  await page.getByText('word3 ').waitFor()
  await context.setOffline(true)
  const banner = page.getByText('The service cannot be reached. Trying again until it answers.')
  await banner.waitFor()
  await context.setOffline(false)
  await banner.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Copy answer' }).waitFor()
  const answer = await page.getByRole('article', { name: 'Answer' }).innerText()
  assert.deepEqual(
    answer.match(/word\d+/g),
    words.map((word) => word.trim()),
  )
  assert.equal(service.model.requests.length, 1, 'the model was asked once')
})

browserTest('Chat: a question in the address stands in the composer, and is not sent', async (t) => {
  const { page, open, service } = await openConsole(t, { script: { text: 'Hello.' } })
  await open('/chat?question=Hello%20there%20%26%20welcome')
  const question = page.getByRole('textbox', { name: 'Your question' })
  await page.waitForURL((url) => url.search === '')
  assert.equal(await question.inputValue(), 'Hello there & welcome')
  await question.fill('Hello')
  await page.reload()
  assert.equal(await question.inputValue(), 'Hello', 'a reload keeps the draft')
  assert.equal(service.model.requests.length, 0)
})
