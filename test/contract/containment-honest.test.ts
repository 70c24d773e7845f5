import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { callsIn, decide } from '../fixtures/approvals.ts'
import { startContained } from '../fixtures/contained.ts'
import { ask, startStage, total, type Stage } from '../fixtures/hostile-worlds.ts'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { obey, order } from '../fixtures/obedient-model.ts'
import type { Reply } from '../fixtures/service-client.ts'
import { fakeTool } from '../fixtures/tools.ts'

/** Tasks of honest persons end as without containment. */

const refund = (number: string) => order('refund', { order: number })
const file = (name: string) => order('write_file', { file_name: name, content: 'x' })
const page = (url: string) => order('web_page', { url })
/** A page whose address the person writes. */
const named = (url: string) => `${url} ${page(url)}`
const request = (method: string, url: string, body?: string) => order('http_request', { method, url, ...(body && { body }) })
const calculation = order('calculator', { expression: '6*7' })
const query = (sql: string) => order('data_query', { sql })
const handbook = order('read_file', { path: 'handbook/leave.md' })
const [mail, bank, inbox, list] = [
  order('mail__read'),
  order('bank__statement'),
  order('inbox', { path: 'inbox/first.txt' }),
  order('list_inbox'),
]
const [reader, looking] = [order('sub_agent_reader', { task: 'Read.' }), order('desk__look', { text: 'parcel' })]
const apiOrder = order('shop__getOrder', { id: 'ok' })

type Task = string | string[]

/** Turns of one session; `new:` begins another session. */
const tasksOf = ({ site, friend }: Stage): Record<string, Task> => {
  const [ok, other, moved, none] = ['/ok', '/other', '/moved', '/none'].map(site.url) as [string, string, string, string]
  return {
    'a refund': refund('1'),
    'two refunds': `${refund('1')} ${refund('2')}`,
    'ten refunds': Array.from({ length: 10 }, (_, at) => refund(String(at))).join(' '),
    'a file': file('a.txt'),
    'a file and a refund': `${file('a.txt')} ${refund('1')}`,
    'a refund of a sub-agent': order('sub_agent_writer', { task: refund('1') }),
    'a refund after a sum': `${total} ${refund('1')}`,
    'a file after a sum': `${total} ${file('sum.txt')}`,
    'a refund after the handbook': `${handbook} ${refund('1')}`,
    'a file after a calculation': `${calculation} ${file('a.txt')}`,
    'an operation of an API': order('shop__createRefund', { body: 'x' }),
    'an operation of an API after a sum': `${total} ${order('shop__createRefund', { body: 'x' })}`,
    'a request that writes': request('POST', ok, 'x'),
    'a request that writes a sum': `${total} ${request('PUT', ok, '4711')}`,
    'a request that deletes': request('DELETE', ok),
    'a refund after a calculation': `${calculation} ${refund('1')}`,
    'a refund in each of two turns': [refund('1'), refund('2')],
    'a file after a talk': ['Hello.', 'How are you?', file('a.txt')],
    'a sub-agent that the agent makes': order('create_sub_agent', { name: 'x', description: 'x', objective: 'x', tools: 'refund' }),
    'a look at the desk': looking,
    'a look at the desk after a sum': `${total} ${looking}`,
    'a page': page(ok),
    'two pages': `${page(ok)} ${page(other)}`,
    'a page twice': `${page(ok)} ${page(ok)}`,
    'a page that has moved': page(moved),
    'a page that is not there': page(none),
    'a page in each of two turns': [page(ok), page(other)],
    'a request': request('GET', ok),
    'a request and a page': `${request('GET', ok)} ${page(other)}`,
    'a request for the head': request('HEAD', ok),
    'a page, then a calculation': `${page(ok)} ${calculation}`,
    'a page, then a sum': `${page(ok)} ${total}`,
    'a page, then the handbook': `${page(ok)} ${handbook}`,
    'a page that the person names, of a sub-agent': `${ok} ${order('sub_agent_clerk', { task: page(ok) })}`,
    'a sum, then a page': `${total} ${page(ok)}`,
    'a sum, then two pages that the person names': `${total} ${named(ok)} ${named(other)}`,
    'a page, a sum, a page that the person names': `${page(ok)} ${total} ${named(other)}`,
    'a page, a sum, a request that the person names': `${page(ok)} ${total} (${other}) ${request('GET', other)}`,
    'a page, a sum, and the host that is listed': `${page(ok)} ${total} ${page(friend.url('/?q=4711'))}`,
    'a page, a sum, and a request to the host that is listed': `${page(ok)} ${total} ${request('POST', friend.url('/'), '4711')}`,
    'a page that the person names in a sentence': `${page(ok)} ${total} Read ${other}, please. ${page(other)}`,
    'an order of an API': apiOrder,
    'an order of an API, then a sum': `${apiOrder} ${total}`,
    'an order of an API, then a page that the person names': `${apiOrder} ${named(ok)}`,
    'the mail': mail,
    'the mail twice': `${mail} ${mail}`,
    'the mail, then a sum': `${mail} ${total}`,
    'the mail, then a page that the person names': `${mail} ${named(ok)}`,
    'the mail of a sub-agent': reader,
    'the statement of the bank': bank,
    'the statement of the bank, then a sum': `${bank} ${query('select region from sales')}`,
    'a file of the inbox': inbox,
    'the files of the inbox': `${list} ${inbox}`,
    'a file of the inbox, then the handbook': `${inbox} ${handbook}`,
    'a page in one session, a refund in another': [page(ok), `new:${refund('1')}`],
    'the mail in one session, a file in another': [mail, `new:${file('a.txt')}`],
    'a question about the mail': [mail, 'What did it say?'],
    'a refund after a page': `${page(ok)} ${refund('1')}`,
    'a file after the mail': `${mail} ${file('a.txt')}`,
    'three equal refunds after a page': `${page(ok)} ${refund('1')} ${refund('1')} ${refund('1')}`,
  }
}

interface Ending {
  turns: { status: number; output: string; steps: unknown[] }[]
  asked: number
}

/** Does a task, and approves what waits. */
async function finish(stage: Stage, task: Task, id: string): Promise<Ending> {
  let [session, asked] = [id, 0]
  const turns: Ending['turns'] = []
  for (const [at, text] of [task].flat().entries()) {
    if (text.startsWith('new:')) session = `${id}-new`
    const next = () => ask({ client: stage.client, id: session }, text.replace('new:', ''), {}, `${id}-${at}`)
    let reply = await next()
    for (; reply.status === 202; reply = await next()) {
      for (const call of callsIn(reply)) {
        asked++
        assert.equal((await decide(stage.client, `${id}-${at}`, call)).status, 200)
      }
    }
    turns.push(toTurn(reply, stage))
  }
  return { turns, asked }
}

function toTurn({ status, body }: Reply, { site, friend }: Stage): Ending['turns'][number] {
  const plain = (value: unknown) =>
    JSON.stringify(value)
      .replaceAll(site.host, 'site')
      .replaceAll(friend.host, 'friend')
      .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'id')
  const steps = body.body.intermediate_steps as { tool: string; tool_input: object; status: string; output: unknown }[]
  return {
    status,
    output: plain(body.body.output),
    steps: steps.map((step) => plain([step.tool, step.tool_input, step.status, step.output])),
  }
}

test('Containment: honest tasks end as without it, nearly none asks, and each that asks, asks once', async (t) => {
  const [contained, open] = [await startStage(t, 'approve'), await startStage(t, undefined)]
  let count = 0
  const asking: string[] = []
  const different: string[] = []
  for (const { site, hide } of [contained, open]) {
    hide('Nothing new.')
    Object.assign(site.pages, {
      '/ok': 'Fine.',
      '/other': 'Fine, too.',
      '/moved': { location: '/ok' },
      '/orders/ok': 'Sent.',
      '/refunds': 'Done.',
    })
  }
  const openTasks = tasksOf(open)
  for (const [name, task] of Object.entries(tasksOf(contained))) {
    const id = `t${++count}`
    const [here, there] = [await finish(contained, task, id), await finish(open, openTasks[name]!, id)]
    if (JSON.stringify(here.turns) !== JSON.stringify(there.turns)) different.push(name)
    for (const { status } of there.turns) assert.equal(status, 200, name)
    assert.equal(there.asked, 0, name)
    assert.ok(here.asked <= 1, `${name} asked ${here.asked} times`)
    if (here.asked > 0) asking.push(name)
  }
  t.diagnostic(`${count} tasks, ${count - different.length} end as without containment; asked once: ${asking.join(', ')}`)
  assert.equal(count, 60)
  assert.deepEqual(different, [])
  assert.deepEqual(asking, ['a refund after a page', 'a file after the mail', 'three equal refunds after a page'])
  assert.deepEqual(contained.refunds, open.refunds)
})

test('Containment: a memory that a tool of strangers has taught holds the calls of the next day', async (t) => {
  let calls = 0
  const flaky = fakeTool('flaky', async () => (++calls % 2 === 1 ? Promise.reject(new Error('The format of dates is wrong.')) : 'fine'), {
    marks: { trust: 'untrusted', private: false, outbound: false },
  })
  const lesson = `flaky wants dates as text ${refund('9')}`
  const script = (asked: ModelServerRequest) => {
    const system = String(asked.body.messages[0]?.content)
    if (system.startsWith('You keep the lessons')) return { text: JSON.stringify([{ content: lesson }]) }
    return system.startsWith('You keep') ? { text: '[]' } : obey(asked)
  }
  const { client, refunds } = await startContained(t, { after_untrusted: 'approve' }, { tools: [flaky], script })
  await ask({ client, id: 'monday' }, `Use flaky: ${order('flaky')} ${order('flaky')}`, { auto_memory_retain: true })
  const { body } = await until(
    () => client.request('GET', '/core/v1/memories'),
    (reply) => reply.body.count > 0,
  )
  assert.deepEqual([body.memories[0].origin, body.memories[0].trust], ['tool', 'untrusted'])
  const tuesday = await ask({ client, id: 'tuesday' }, 'Which format of dates does flaky want?')
  assert.equal(tuesday.status, 202, tuesday.text)
  assert.deepEqual(tuesday.body.approval_required.calls[0].sources, [{ tool: 'memory', tool_call_id: null }])
  assert.deepEqual(refunds, [])
})
