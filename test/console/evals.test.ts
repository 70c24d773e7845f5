import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import type { ModelScript } from '../fixtures/model-server.ts'
import { answerRefund, endOf, recordRefunds, shopApi, shopTool, startExperiment, startRefundShop } from '../fixtures/refund-shop.ts'
import { browserTest, openConsole, signIn, withoutTransitions, type ConsoleOptions } from './browser-fixture.ts'
import { ann } from './example-data.ts'

const path = '/core/v1/experiments'
const twice = { patch: { instructions: 'Refund twice.' } }

/** Opens the console for an administrator with the dataset `core` of runs that have refunded an order each. */
async function openEvals(t: TestContext, { count = 2, config, ...options }: ConsoleOptions & { count?: number } = {}) {
  const shop = await startRefundShop()
  const tools = [shopTool(shop, 'files/api.yaml')]
  const files = { 'api.yaml': shopApi }
  const opened = await openConsole(t, { script: answerRefund, who: ann, files, ...options, config: { tools, ...config } })
  t.after(() => shop.close())
  const client = await opened.service.as(ann)
  const dataset = await recordRefunds(client, count)
  /** The experiment, when it has ended. */
  const run = async (body: object) => endOf(client, await startExperiment(client, { dataset_id: 'core', ...body }))
  return { ...opened, client, dataset, refunds: shop.refunds, run }
}

async function choose(page: Page, name: string, option: string): Promise<void> {
  await page.getByRole('combobox', { name, exact: true }).click()
  await page.getByRole('option', { name: option }).click()
}

const writesOf = (page: Page) => page.getByRole('region', { name: 'Proposed writes', exact: true })

browserTest('Evals: a patch that refunds twice is tried, and its writes stand on top with the place of each', async (t) => {
  const { page, open, dataset, refunds, checkAccessibility } = await openEvals(t)
  await open(`/evals/datasets/${dataset}`)
  await page.getByRole('link', { name: 'New experiment' }).press('Enter')
  const start = page.getByRole('button', { name: 'Start' })
  await choose(page, 'Candidate', 'A patch of the configuration in use')
  assert.ok(await start.isDisabled(), 'a candidate is missing')
  const patch = page.getByRole('textbox', { name: 'Patch' })
  await patch.fill('{"instructions": ')
  assert.ok(await start.isDisabled(), 'a text that is no JSON is not sent')
  await patch.fill(JSON.stringify(twice.patch))
  await checkAccessibility()
  await start.press('Enter')
  await page.getByRole('heading', { name: 'Experiment on core' }).waitFor()
  await page.getByText('not passed', { exact: true }).waitFor()
  await page.getByRole('heading', { name: 'Proposed writes: 2' }).waitFor()
  const rows = writesOf(page).last().getByRole('row')
  await rows.nth(2).waitFor()
  assert.deepEqual(await rows.allInnerTexts(), [
    'Tool\tInput\tExample',
    'shop__refund\t{"order":1}\tRefund order 1.',
    'shop__refund\t{"order":2}\tRefund order 2.',
  ])
  const variants = page.getByRole('region', { name: 'Variants' }).last()
  await variants.getByRole('row', { name: 'Pass rate 100% (2 of 2) 0% (0 of 2)' }).waitFor()
  await variants.getByRole('row', { name: 'Writes 2 the same 2 the same, 2 more' }).waitFor()
  await checkAccessibility()
  assert.deepEqual(refunds, [{ order: 1 }, { order: 2 }], 'nothing is refunded again')

  await rows.nth(2).getByRole('link').press('Enter')
  await page.getByRole('heading', { name: 'Refund order 2.' }).waitFor()
  const divergence = page.getByRole('rowheader', { name: 'First divergence' }).or(page.getByText('First divergence', { exact: true }))
  await divergence.first().waitFor()
  await page.getByText('not recorded', { exact: true }).waitFor()
  assert.deepEqual(await page.getByRole('columnheader').allInnerTexts(), ['recorded', 'baseline', 'candidate'])
  await checkAccessibility()
})

browserTest('Evals: results are filtered by their outcome, and open to both answers and scores', async (t) => {
  const { page, open, run, client } = await openEvals(t)
  const scorers = [
    { name: 'effects', kind: 'effects', required: false },
    { name: 'first', kind: 'contains', texts: ['order 1'] },
  ]
  await client.request('PATCH', '/core/v1/datasets/core', { body: { scorers } })
  const { id } = await run({ candidate: twice })
  await open(`/evals/experiments/${id}`)
  const results = page.getByRole('region', { name: 'Results' })
  await results.getByRole('article').nth(1).waitFor()
  await page.getByRole('radiogroup', { name: 'Outcome' }).getByText('Failed').click()
  const row = results.getByRole('article', { name: 'Refund order 2.' })
  await row.waitFor()
  assert.equal(await results.getByRole('article').count(), 1)
  await row.getByRole('button', { name: 'Refund order 2.' }).press('Enter')
  const candidate = row.getByRole('region', { name: 'candidate' })
  await candidate.getByText('Refunded order 2.').waitFor()
  await candidate.getByText('effects 0.50').waitFor()
  await candidate.getByText('Writes: 1 added, 0 removed, 0 changed.').waitFor()
  await candidate.getByText('first 0.00').waitFor()
  await page.reload()
  await candidate.getByText('effects 0.50').waitFor()
  await page.getByRole('radiogroup', { name: 'Outcome' }).getByText('Errors').click()
  await page.getByRole('heading', { name: 'No result has this outcome' }).waitFor()
})

browserTest('Evals: recorded replies propose no write, and the experiment is deleted', async (t) => {
  const { page, open, dataset, service } = await openEvals(t)
  const asked = service.model.requests.length
  await open(`/evals/new?dataset=${dataset}`)
  await choose(page, 'Baseline', 'The recorded replies: no model is asked')
  await page.getByRole('button', { name: 'Start' }).press('Enter')
  await page.getByText('passed', { exact: true }).waitFor()
  await page.getByText('None. The baseline makes no write that the recorded runs did not make.').waitFor()
  assert.equal(service.model.requests.length, asked)
  const example = page.getByRole('link', { name: 'Compare traces of Refund order 1.' })
  await example.press('Enter')
  await page.getByText('The traces are the same.').waitFor()
  await page.getByRole('link', { name: 'Experiment', exact: true }).press('Enter')
  await page.getByRole('button', { name: 'Delete' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter')
  await page.getByRole('heading', { name: 'There are no experiments' }).waitFor()
})

browserTest('Evals: a version and a changed agent.yaml are candidates, and a written candidate is not lost by a link', async (t) => {
  const { page, open, client, dataset } = await openEvals(t, { count: 1, allowed: [/status of 422/] })
  const changed = await client.request('PUT', '/core/v1/agent/config', { body: { configuration: twice.patch } })
  assert.equal(changed.status, 200, changed.text)
  await open(`/evals/new?dataset=${dataset}`)
  await choose(page, 'Candidate', 'A version of the history')
  await page.getByRole('combobox', { name: 'Version of the candidate' }).click()
  await page.getByRole('option').last().click()
  await page.getByRole('button', { name: 'Start' }).press('Enter')
  await page.getByRole('heading', { name: 'Proposed writes', exact: true }).waitFor()
  await page.getByText('None. The candidate makes no write that the recorded runs did not make.').waitFor()
  await page.getByRole('row', { name: 'Writes 1 the same, 1 more 1 the same' }).waitFor()

  await open(`/evals/new?dataset=${dataset}`)
  await choose(page, 'Candidate', 'A changed agent.yaml')
  const editor = page.getByRole('textbox', { name: 'agent.yaml' })
  await editor.click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('\nnonsense: 1')
  await page
    .getByText(/nonsense/)
    .last()
    .waitFor()
  await page.getByRole('button', { name: 'Start' }).press('Enter')
  await page.getByRole('alert').getByText('candidate').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Runs' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Stay' }).press('Enter')
  await editor.getByText('nonsense').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Runs' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).press('Enter')
  await page.getByRole('heading', { name: 'Runs' }).waitFor()
})

browserTest('Evals: an experiment that goes on shows its progress, and is cancelled', async (t) => {
  const gate = Promise.withResolvers<void>()
  let isReplay = false
  const script: ModelScript = (request) => ({ ...answerRefund(request), ...(isReplay && { begins: gate.promise }) })
  t.after(() => gate.resolve())
  const { page, open, client } = await openEvals(t, { script })
  isReplay = true
  const id = await startExperiment(client, { dataset_id: 'core', candidate: twice })
  await open('/evals?tab=experiments')
  await page.getByRole('link', { name: 'core' }).press('Enter')
  await page.getByRole('progressbar', { name: 'Progress' }).waitFor()
  await page.getByText('0 of 4 replays are done').waitFor()
  await page.getByText('None so far.').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).press('Enter')
  await page.getByText('cancelled', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).waitFor()
  assert.equal((await client.request('GET', `${path}/${id}`)).body.status, 'cancelled')
})

browserTest('Evals: the traces of an example show the candidate when its replay is done', async (t) => {
  const gate = Promise.withResolvers<void>()
  const script: ModelScript = (request) => {
    const isCandidate = String(request.body.messages[0].content).includes('Refund twice.')
    return { ...answerRefund(request), ...(isCandidate && { begins: gate.promise }) }
  }
  t.after(() => gate.resolve())
  const { page, open, client } = await openEvals(t, { script, count: 1 })
  const id = await startExperiment(client, { dataset_id: 'core', candidate: twice })
  await open(`/evals/experiments/${id}`)
  await page.getByRole('link', { name: 'Compare traces of Refund order 1.' }).press('Enter')
  await page.getByText('The traces are the same.').waitFor()
  assert.deepEqual(await page.getByRole('columnheader').allInnerTexts(), ['recorded', 'baseline'])
  gate.resolve()
  await page.getByText('First divergence', { exact: true }).waitFor()
  assert.deepEqual(await page.getByRole('columnheader').allInnerTexts(), ['recorded', 'baseline', 'candidate'])
})

browserTest('Evals: an operator reads experiments and starts none; a key without config.write tries no text', async (t) => {
  const access = { roles: { tester: ['runs.read', 'evals.read', 'evals.write'] } }
  const { page, open, run, service, context, dataset } = await openEvals(t, { count: 1, config: { access } })
  const { id } = await run({ candidate: twice })
  await signIn(context, service, { sub: 'opal', roles: ['operator'] })
  await open(`/evals/experiments/${id}`)
  await page.getByRole('heading', { name: 'Proposed writes: 1' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0)
  await open(`/evals/new?dataset=${dataset}`)
  await page.getByRole('heading', { name: 'Your key does not permit this' }).waitFor()
  await signIn(context, service, { sub: 'tess', roles: ['tester'] })
  await open(`/evals/new?dataset=${dataset}`)
  await page.getByRole('combobox', { name: 'Candidate', exact: true }).click()
  assert.deepEqual(await page.getByRole('option').allInnerTexts(), ['None: the baseline alone'])
})

/** Sets a flag wherever it is taken for markup or code; long words do not wrap by themselves. */
const attack = `<img src=x onerror="window.broken=1"><script>window.broken=1</script>${'w'.repeat(1000)}`

/** Replaces the results of an experiment by many, with texts of an attacker and long traces. */
async function fillResults(page: Page, id: string): Promise<void> {
  const place = `**/core/v1/experiments/${id}/results`
  const effects = { same: 0, added: [], removed: [], changed: [{ tool: attack, before: { attack }, after: { attack } }] }
  const score = { name: attack.slice(0, 64), kind: 'judge', score: 0.5, passed: false, required: true, reason: attack }
  const reply = (n: number, text: string) => ({ n, kind: 'reply', parent: null, text })
  const call = (n: number, input: object, recorded = true) => ({
    ...{ n, kind: 'call', parent: n > 30 ? 1 : null, tool: attack.slice(0, 200), tool_input: input, output: attack },
    ...{ status: recorded ? 'success' : 'error', effect: 'write', recorded },
  })
  const same = Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? reply(index + 1, attack) : call(index + 1, { index })))
  const variant = {
    ...{
      outcome: 'diverged',
      output: attack,
      divergence: { reason: 'no_recording', call: { tool: attack, tool_input: attack, parent: null } },
    },
    ...{ proposed_writes: [], effects, scores: [score], cost: 0.1, tokens: 10, duration_ms: 100, request_id: 'x', error: attack },
  }
  const resultOf = (index: number, hasTraces: boolean) => {
    const traceOf = (end: object) => (hasTraces ? { trace: [...same, end] } : {})
    return {
      ...{ example_id: `e${index}`, example_name: `${index} ${attack.slice(0, 90)}`, dataset_id: 'd', repetition: 1, question: attack },
      recorded: { output: attack, request_id: 'r1', ...traceOf(reply(61, 'The end')) },
      baseline: { ...variant, ...traceOf(reply(61, 'The end')) },
      candidate: { ...variant, ...traceOf(call(61, { attack }, false)) },
      proposed_writes: [{ tool: attack.slice(0, 200), tool_input: { attack }, recorded: false }],
    }
  }
  await page.route(`${place}/*`, (route) => route.fulfill({ json: resultOf(1, true) }))
  await page.route(`${place}?*`, (route) => {
    const from = Number(new URL(route.request().url()).searchParams.get('offset') ?? 0)
    const results = Array.from({ length: 45 }, (_, index) => resultOf(from + index, false))
    return route.fulfill({ json: { results, offset: from + 45, has_more: from < 900 } })
  })
  await page.route(`**/core/v1/experiments/${id}`, async (route) => {
    const response = await route.fetch()
    const body = await response.json()
    return route.fulfill({ response, json: { ...body, effects: { same: 0, added: 900, removed: 2, changed: 45 } } })
  })
}

browserTest('Evals: experiments and traces fit a phone in both themes, and what a model wrote is text', async (t) => {
  const { page, open, run, checkAccessibility } = await openEvals(t, { count: 1, viewport: { width: 375, height: 740 } })
  const { id } = await run({ candidate: twice })
  await fillResults(page, id)
  const isWide = 'document.documentElement.scrollWidth > innerWidth'
  const inBothThemes = async (): Promise<void> => {
    await page.evaluate(withoutTransitions)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await checkAccessibility()
    }
    assert.equal(await page.evaluate(isWide), false)
    assert.equal(await page.evaluate('window.broken'), undefined)
  }
  await open(`/evals/experiments/${id}`)
  await page.getByRole('heading', { name: 'Proposed writes: 945' }).waitFor()
  const rows = writesOf(page).last().getByRole('row')
  await rows.nth(50).waitFor()
  assert.equal(await rows.count(), 51)
  await page.getByRole('button', { name: 'Show more', exact: true }).press('Enter')
  await rows.nth(100).waitFor()
  await page.getByRole('article').first().getByRole('button').first().press('Enter')
  await page.getByRole('region', { name: 'candidate' }).first().waitFor()
  await inBothThemes()

  await open(`/evals/experiments/${id}/e1`)
  await page.getByText('not recorded', { exact: true }).waitFor()
  const box = await page.getByText('First divergence', { exact: true }).boundingBox()
  assert.ok(box && box.y > 50 && box.y < 740, `the page is scrolled to the first divergence: ${box?.y}`)
  await inBothThemes()
})
