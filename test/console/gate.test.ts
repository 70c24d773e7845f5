import assert from 'node:assert/strict'
import { hashOf } from '../../src/configuration/hash.ts'
import { openEvidence } from '../fixtures/gate-evidence.ts'
import { answerRefund, recordRefunds, shopApi, shopTool, startRefundShop } from '../fixtures/refund-shop.ts'
import { browserTest, openConsole } from './browser-fixture.ts'

const yaml = `name: Ledger
releases:
  gate: { dataset: core }
`
const admin = { sub: 'ann', roles: ['admin'] }

browserTest('Gate: a refused change leads to its experiment, and is saved for a reason; so is a restoration', async (t) => {
  const { page, open, service, checkAccessibility } = await openConsole(t, { yaml, who: admin, allowed: [/409/] })
  const client = await service.as(admin)
  const configOf = async () => (await client.request('GET', '/core/v1/agent/config')).body.configuration
  const { config } = service.service.agent
  const { addDataset, addExperiment } = await openEvidence(t, service.settings)
  const id = await addExperiment(await addDataset(), { configHash: hashOf({ ...config, name: 'Ledger Two' }), passRate: 0.5 })

  await open('/agent?tab=yaml')
  const editor = page.getByRole('textbox', { name: 'agent.yaml' })
  await editor.getByText('name: Ledger').click()
  await editor.press('End')
  await editor.pressSequentially(' Two')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('list', { name: 'Warnings' }).getByText('has not passed the gate').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  const gate = page.getByRole('alert', { name: 'Gate' })
  await gate.getByText('the pass rate is 0.5, and must be at least 0.95').waitFor()
  const link = gate.getByRole('link', { name: 'Newest experiment of this change' })
  assert.match((await link.getAttribute('href')) ?? '', new RegExp(`/evals/experiments/${id}$`))
  await checkAccessibility()
  assert.equal((await configOf()).name, 'Ledger')
  const override = gate.getByRole('button', { name: 'Override the gate' })
  assert.equal(await override.isDisabled(), true)
  await gate.getByRole('textbox', { name: 'Reason to save all the same' }).fill('an outage')
  await override.click()
  await page.getByText('Names and values complete as you type').waitFor()
  assert.equal((await configOf()).name, 'Ledger Two')

  await open('/agent?tab=history')
  await page.getByRole('button', { name: /^Restore version/ }).click()
  const dialog = page.getByRole('dialog', { name: 'Restore this version?' })
  await dialog.getByRole('button', { name: 'Restore' }).click()
  await gate.getByText('no experiment on the dataset "core"').waitFor()
  await checkAccessibility()
  const start = gate.getByRole('link', { name: 'experiment' })
  assert.match((await start.getAttribute('href')) ?? '', /evals\/new\?dataset=core&candidate=version&version=./)
  await gate.getByRole('textbox', { name: 'Reason to save all the same' }).fill('back again')
  await override.click()
  await dialog.waitFor({ state: 'detached' })
  assert.equal((await configOf()).name, 'Ledger')
})

browserTest('Gate: a change without an experiment is tried from its refusal, and saved once it has passed', async (t) => {
  const shop = await startRefundShop()
  const config = { tools: [shopTool(shop, 'files/api.yaml')] }
  const options = { script: answerRefund, config, files: { 'api.yaml': shopApi }, who: admin, allowed: [/409/] }
  const { page, open, service } = await openConsole(t, options)
  t.after(() => shop.close())
  const client = await service.as(admin)
  await recordRefunds(client, 1)
  const configuration = { releases: { gate: { dataset: 'core' } } }
  const gated = await client.request('PUT', '/core/v1/agent/config', { body: { configuration, override: 'the first gate' } })
  assert.equal(gated.status, 200, gated.text)
  await open('/agent?tab=yaml')
  const editor = page.getByRole('textbox', { name: 'agent.yaml' })
  await editor.click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('instructions: Refund politely.\n')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert', { name: 'Gate' }).getByRole('link', { name: 'experiment' }).press('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).press('Enter')
  await page.getByText('Begins with your draft of Agent.').waitFor()
  await editor.getByText('Refund politely.').waitFor()
  await page.getByRole('button', { name: 'Start' }).press('Enter')
  await page.getByText('passed', { exact: true }).waitFor()
  await open('/agent?tab=yaml')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Names and values complete as you type').waitFor()
  const { body } = await client.request('GET', '/core/v1/agent/config')
  assert.equal(body.configuration.instructions, 'Refund politely.')
})
