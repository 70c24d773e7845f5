import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'
import { browserTest, openConsole, signIn, type ConsoleOptions } from './browser-fixture.ts'
import { ann } from './example-data.ts'

const refund = fakeTool('refund', async () => ({ refunded: 9 }), { effect: 'write' })

/** Opens the console for an administrator who has a run `r1` that has refunded an order, in the session `s1`. */
async function openRefunded(t: TestContext, options: ConsoleOptions = {}) {
  const script = [callOf('refund', { order: 9 }), { text: 'Refunded.' }]
  const opened = await openConsole(t, { script, tools: [refund], who: ann, ...options })
  const client = await opened.service.as(ann)
  await client.chat('Refund order 9', { 'request-id': 'r1', 'session-id': 's1' })
  return { ...opened, client }
}

browserTest('Datasets: a run is added to a new dataset, and its example is edited, detached and removed', async (t) => {
  const { page, open, client, checkAccessibility } = await openRefunded(t)
  await open('/evals')
  await page.getByRole('heading', { name: 'There are no datasets' }).waitFor()
  await checkAccessibility()
  await open('/runs/r1')
  await page.getByRole('button', { name: 'Add to dataset' }).press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Name of the dataset' }).fill('core')
  await dialog.getByRole('textbox', { name: 'Tags' }).fill('refunds, core, refunds,')
  await checkAccessibility()
  await dialog.getByRole('button', { name: 'Add', exact: true }).press('Enter')
  await dialog.getByRole('status').waitFor()
  await dialog.getByRole('link', { name: 'core' }).press('Enter')
  await page.getByRole('heading', { name: 'core' }).waitFor()
  await page.getByText('1 example', { exact: true }).waitFor()
  const row = page.getByRole('article', { name: 'Refund order 9' })
  await row.getByText('1 call, 1 write').waitFor()
  await row.getByRole('button', { name: 'Refund order 9' }).press('Enter')
  await row.getByRole('region', { name: 'Recording' }).getByText('calls', { exact: false }).first().waitFor()
  await row.getByRole('link', { name: 'r1' }).waitFor()
  await checkAccessibility()

  await row.getByRole('button', { name: 'Edit' }).press('Enter')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('A refund')
  await dialog.getByRole('button', { name: 'Save' }).press('Enter')
  const renamed = page.getByRole('article', { name: 'A refund' })
  await renamed.getByText('Refund order 9').first().waitFor()
  await renamed.getByRole('button', { name: 'Detach' }).press('Enter')
  await dialog.getByRole('button', { name: 'Detach' }).press('Enter')
  await renamed.getByText('detached from its run').waitFor()
  const { body } = await client.request('GET', '/core/v1/datasets/core/examples')
  assert.deepEqual([body.examples[0].name, body.examples[0].tags, body.examples[0].source], ['A refund', ['refunds', 'core'], null])
  await renamed.getByRole('button', { name: 'Remove' }).press('Enter')
  await dialog.getByRole('button', { name: 'Remove' }).press('Enter')
  await page.getByRole('heading', { name: 'The dataset has no examples' }).waitFor()
})

browserTest('Datasets: one is created, refused under a name that another has, renamed and deleted', async (t) => {
  const { page, open, client, checkAccessibility } = await openRefunded(t, { allowed: [/status of 409/, /status of 422/] })
  await client.request('POST', '/core/v1/datasets', { body: { name: 'core' } })
  await open('/evals')
  await page.getByRole('button', { name: 'New dataset' }).press('Enter')
  const dialog = page.getByRole('dialog')
  const name = dialog.getByRole('textbox', { name: 'Name' })
  await name.fill('core')
  await dialog.getByRole('button', { name: 'Create' }).press('Enter')
  await dialog.getByRole('alert').getByText('The tenant has a dataset core already.').waitFor()
  await name.fill('not a name')
  await name.press('Enter')
  await dialog.getByRole('alert').getByText('Name: ').waitFor()
  await name.fill('refunds')
  await dialog.getByRole('textbox', { name: 'Description' }).fill('From real runs')
  await checkAccessibility()
  await name.press('Enter')
  await page.getByRole('heading', { name: 'refunds' }).waitFor()
  await page.getByRole('heading', { name: 'The dataset has no examples' }).waitFor()
  await page.getByRole('button', { name: 'Edit' }).press('Enter')
  await name.fill('refunds-2')
  await name.press('Enter')
  await page.getByRole('heading', { name: 'refunds-2' }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).press('Enter')
  await dialog.getByRole('button', { name: 'Delete' }).press('Enter')
  await page.getByRole('link', { name: 'core' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'refunds-2' }).count(), 0)
})

browserTest('Datasets: a run that goes on, and one that was removed, are no examples, and the dialog says why', async (t) => {
  const gated = gatedTool('wait')
  const script = [callOf('refund', { order: 9 }), { text: 'Refunded.' }, callOf('wait'), { text: 'Done.' }]
  const options = { script, tools: [refund, gated.tool], allowed: [/status of 409/, /status of 410/, /status of 404/] }
  const { page, open, client } = await openRefunded(t, options)
  const dialog = page.getByRole('dialog')
  const add = async (): Promise<void> => {
    await page.getByRole('button', { name: 'Add to dataset' }).press('Enter')
    const name = dialog.getByRole('textbox', { name: 'Name of the dataset' })
    const select = dialog.getByRole('combobox', { name: 'Dataset' })
    await select.waitFor()
    if ((await select.inputValue()) === 'New dataset') await name.fill('core')
    await dialog.getByRole('button', { name: 'Add', exact: true }).press('Enter')
  }
  const waiting = client.chat('Wait', { 'request-id': 'r2', 'session-id': 's2' })
  await gated.entered
  await open('/runs/r2')
  await add()
  await dialog.getByRole('alert').getByText('The run r2 has not ended.').waitFor()
  assert.equal(await dialog.getByRole('combobox', { name: 'Dataset' }).inputValue(), 'core', 'the dataset that was made stays chosen')
  gated.open()
  await waiting
  await dialog.getByRole('button', { name: 'Add', exact: true }).press('Enter')
  await dialog.getByRole('status').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).press('Enter')

  await open('/runs/r1')
  await page.getByRole('button', { name: 'Add to dataset' }).waitFor()
  await client.request('DELETE', '/core/v1/sessions/s1')
  await until(
    () => client.request('GET', '/core/v1/runs/r1'),
    ({ status }) => status !== 200,
  )
  await add()
  await dialog.getByRole('alert').waitFor()
  assert.match((await dialog.getByRole('alert').textContent()) ?? '', /has been removed|no run r1/)
})

browserTest('Datasets: an operator reads them and changes nothing, and a user does not see them', async (t) => {
  const { page, open, client, service, context } = await openRefunded(t, { viewport: { width: 375, height: 740 } })
  const { body: dataset } = await client.request('POST', '/core/v1/datasets', { body: { name: 'core', description: 'x'.repeat(500) } })
  const example = { from_run: { request_id: 'r1' }, name: 'n'.repeat(100), tags: ['t'.repeat(64), 'refunds'] }
  await client.request('POST', `/core/v1/datasets/${dataset.id}/examples`, { body: example })
  await signIn(context, service, { sub: 'opal', roles: ['operator'] })
  await open('/evals')
  await page.getByRole('link', { name: 'core' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'New dataset' }).count(), 0)
  await page.getByRole('link', { name: 'core' }).press('Enter')
  const row = page.getByRole('article')
  await row.getByRole('button').press('Enter')
  await row.getByRole('region', { name: 'Recording' }).waitFor()
  assert.equal(
    await page
      .getByRole('main')
      .getByRole('button', { name: /Edit|Delete|Remove|Detach/ })
      .count(),
    0,
  )
  assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
  await signIn(context, service, { sub: 'uma', roles: ['user'] })
  await open('/evals')
  await page.getByRole('heading', { name: 'Your key does not permit this' }).waitFor()
})

browserTest('Datasets: scorers are made in a form, whose faults have their place, and as JSON', async (t) => {
  const { page, open, client, checkAccessibility } = await openRefunded(t, { allowed: [/status of 422/] })
  const { body: dataset } = await client.request('POST', '/core/v1/datasets', { body: { name: 'core' } })
  await open(`/evals/datasets/${dataset.id}`)
  await page.getByText('Writes are those of the recording').waitFor()
  await page.getByRole('button', { name: 'Scorers' }).press('Enter')
  const dialog = page.getByRole('dialog')
  const choose = async (group: string, kind: string): Promise<void> => {
    await dialog.getByRole('group', { name: group }).getByRole('combobox', { name: 'Measures' }).click()
    await page.getByRole('option', { name: kind }).click()
  }
  await dialog.getByRole('button', { name: 'Add a scorer' }).press('Enter')
  await dialog.getByRole('button', { name: 'Add a scorer' }).press('Enter')
  const second = dialog.getByRole('group', { name: 'Scorer 2' })
  await second.getByRole('textbox', { name: 'Name' }).fill('polite')
  await choose('Scorer 2', 'Answer matches a pattern')
  assert.equal(await second.getByRole('textbox', { name: 'Name' }).inputValue(), 'polite')
  await second.getByRole('textbox', { name: 'Pattern' }).fill('(a')
  await second.getByRole('switch', { name: 'A failed score fails the example' }).press('Space')
  await checkAccessibility()
  await dialog.getByRole('button', { name: 'Save' }).press('Enter')
  await dialog.getByRole('alert').getByText('scorers.1.pattern').waitFor()
  await second.getByRole('textbox', { name: 'Pattern' }).fill('please')
  await dialog.getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByText('polite: Answer matches a pattern (not required)').waitFor()

  await page.getByRole('button', { name: 'Scorers' }).press('Enter')
  await dialog.getByText('JSON', { exact: true }).click()
  const json = dialog.getByRole('textbox', { name: 'Scorers' })
  await json.fill('[{')
  assert.ok(await dialog.getByRole('button', { name: 'Save' }).isDisabled(), 'a text that is no JSON is not saved')
  await json.fill('[{"name": "cheap", "kind": "max_cost", "usd": 0.5}]')
  await checkAccessibility()
  await dialog.getByRole('button', { name: 'Save' }).press('Enter')
  await page.getByText('cheap: Cost at most').waitFor()
  const { body: changed } = await client.request('GET', '/core/v1/datasets/core')
  assert.deepEqual(changed.scorers, [{ name: 'cheap', kind: 'max_cost', usd: 0.5 }])
})

browserTest("Datasets: an administrator adds another caller's run to a dataset that exists", async (t) => {
  const script = [callOf('refund', { order: 9 }), { text: 'Refunded.' }, { text: 'Good day.' }]
  const { page, open, client, service } = await openRefunded(t, { script })
  await client.request('POST', '/core/v1/datasets', { body: { name: 'core' } })
  const bob = await service.as({ sub: 'bob', roles: ['user'] })
  await bob.chat('Good morning', { 'request-id': 'r2' })
  await open('/runs')
  await page.getByRole('link', { name: 'Good morning' }).press('Enter')
  await page.getByRole('button', { name: 'Add to dataset' }).press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox', { name: 'Name of the example' }).fill('A greeting')
  await dialog.getByRole('button', { name: 'Add', exact: true }).press('Enter')
  await dialog.getByRole('status').waitFor()
  const { body } = await client.request('GET', '/core/v1/datasets/core/examples')
  assert.deepEqual([body.examples[0].name, body.examples[0].question], ['A greeting', 'Good morning'])
})
