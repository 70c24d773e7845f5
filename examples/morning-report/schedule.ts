import { createClient, type NewSchedule } from 'agent-core/client'

const client = createClient({
  baseUrl: process.env.AGENT_CORE_URL ?? 'http://127.0.0.1:8080',
  accessKey: process.env.AGENT_CORE_KEY,
})
const name = 'Morning report'
const wanted: NewSchedule = {
  name,
  cron: '30 7 * * 1-5',
  timezone: process.env.REPORT_ZONE ?? 'Europe/Berlin',
  request: {
    messages: [{ role: 'user', content: 'What were the total sales by region?' }],
    callback_url: process.env.CALLBACK_URL ?? 'http://127.0.0.1:9000',
  },
}

/** Makes the schedule, or changes the one that exists: the program can run at each deployment. */
async function ensure(): Promise<string> {
  for await (const { id, status, ...found } of client.schedules.all()) {
    if (found.name !== name || status === 'ended') continue
    const { etag } = await client.schedules.get(id)
    await client.schedules.update(id, wanted, { ifMatch: etag })
    console.log(`${name} exists.`)
    return id
  }
  const { id } = await client.schedules.create(wanted)
  console.log(`${name} was created.`)
  return id
}

const id = await ensure()
const { occurrences } = await client.schedules.preview({ cron: wanted.cron!, timezone: wanted.timezone!, count: 3 })
for (const { local, note } of occurrences) console.log(note === undefined ? local : `${local} (${note})`)
if (process.argv.includes('--now')) console.log((await client.schedules.trigger(id)).outcome)
