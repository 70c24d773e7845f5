import { freePort } from '../fixtures/postgres-server.ts'
import { copyExample, exampleTest, makeCheckout, runReadme } from './example.ts'

exampleTest('custom-tool: its tests pass, the command checks it, and the agent uses it', async (t) => {
  await runReadme(t, await copyExample(await makeCheckout(t), 'custom-tool', {}))
})

exampleTest('refund-twice: an experiment finds the second refunds, nothing is paid, and the gate refuses the change', async (t) => {
  const [agent, payments, model] = [await freePort(), await freePort(), await freePort()]
  const folder = await copyExample(await makeCheckout(t), 'refund-twice', { 8080: agent, 9200: payments, 9300: model })
  await runReadme(t, folder, { PORT: String(agent) })
})

exampleTest('expense-skill: the command checks the skill, the agent loads the skill, and Python runs the script', async (t) => {
  const agent = await freePort()
  const folder = await copyExample(await makeCheckout(t), 'expense-skill', { 8080: agent })
  await runReadme(t, folder, { PORT: String(agent) })
})

exampleTest('shop-support: each customer sees own orders alone, and a refund waits for a colleague', async (t) => {
  const [agent, shop] = [await freePort(), await freePort()]
  const folder = await copyExample(await makeCheckout(t), 'shop-support', { 8080: agent, 9100: shop })
  await runReadme(t, folder, { PORT: String(agent), AGENT_CORE_URL: `http://127.0.0.1:${agent}` })
})
