import { toOffset } from '../../src/json/offset.ts'
import { idOf, otherRows, rareVersion, sessionOf, spanMs, type RowCounts } from '../row-values.ts'

/** A request for a page of a list. */
export interface Question {
  /** The list and its reader. */
  group: string
  filter: string
  page: string
  path: string
  isAdmin: boolean
}

/** Number of the caller whose lists are read. */
export const caller = 7

/** Pages of every list that grows with use, with each filter and pair of filters, by a caller and by an administrator. */
export function questionsOf(counts: RowCounts, now: number): Question[] {
  return [false, true].flatMap((isAdmin) => [
    ...sessionQuestions(counts, isAdmin),
    ...runQuestions(now, isAdmin),
    ...timedQuestions(now, isAdmin),
    ...fileQuestions(counts, isAdmin),
    ...(isAdmin ? reportQuestions(counts, now) : []),
  ])
}

interface List {
  name: string
  path: string
  isAdmin: boolean
  /** Query parameters of the pages in the middle and at the end. */
  middle: string
  last: string
}

function pagesOf({ name, path, isAdmin, middle, last }: List, filters: readonly string[] = ['']): Question[] {
  return filters.flatMap((filter) => {
    const group = `${name}, by ${isAdmin ? 'an administrator' : 'a caller'}`
    const page = (pageName: string, query: string) => ({
      group,
      filter,
      page: pageName,
      path: `${path}?${[filter, query].filter(Boolean).join('&')}`,
      isAdmin,
    })
    return [page('first', ''), page('middle', middle), page('last', last)]
  })
}

function sessionQuestions(counts: RowCounts, isAdmin: boolean): Question[] {
  const before = (share: number) => `before=${sessionOf(caller, counts, share)}`
  return pagesOf({ name: 'sessions', path: '/core/v1/sessions', isAdmin, middle: before(0.5), last: before(isAdmin ? 0 : 0.05) })
}

/** Time of a row at `share` (0: oldest) of the generated year. */
function timeAt(share: number, now: number): number {
  return Math.floor(now - spanMs * (1 - share))
}

/** Share of the year before the last page: a caller has a thousandth of the rows. */
function lastShare(isAdmin: boolean): number {
  return isAdmin ? 0.0001 : 0.05
}

function runQuestions(now: number, isAdmin: boolean): Question[] {
  const before = (share: number) => `before=${toOffset([timeAt(share, now), 'request-', ''])}`
  const list = { name: 'runs', path: '/core/v1/runs', isAdmin, middle: before(0.5), last: before(lastShare(isAdmin)) }
  const times = `since=${new Date(timeAt(0.4, now)).toISOString()}&until=${new Date(timeAt(0.6, now)).toISOString()}`
  const values = [
    ['status=success', 'status=error', 'status=timeout', 'status=running', 'status=interrupted'],
    ['operation=chain', 'operation=chain_async'],
    ['tool=data_query', 'tool=chart', 'tool=none'],
    ['version=version-90', `version=${rareVersion}`, 'version=none'],
    ['sub=caller-7', 'sub=nobody'],
    ['session_id=session-70'],
    [times],
  ]
  const pairs = values.flatMap((group, n) => values.slice(n + 1).flatMap((other) => group.flatMap((a) => other.map((b) => `${a}&${b}`))))
  return pagesOf(list, ['', ...values.flat(), ...pairs])
}

function timedQuestions(now: number, isAdmin: boolean): Question[] {
  const at = (share: number) => timeAt(share, now)
  const last = lastShare(isAdmin)
  const callback = (share: number) => `before=${toOffset([at(share), 'request-', '', ''])}`
  const callbacks = { name: 'callbacks', path: '/core/v1/callbacks', isAdmin, middle: callback(0.5), last: callback(last) }
  const call = (share: number) => `before=${toOffset([at(share), 0, '', '', ''])}`
  const approvals = { name: 'approvals', path: '/core/v1/approvals', isAdmin, middle: call(0.5), last: call(last) }
  const key = (share: number) => `before=${toOffset([at(share), ''])}`
  const keys = { name: 'keys', path: '/core/v1/keys', isAdmin, middle: key(0.5), last: key(last) }
  return [
    ...pagesOf(callbacks, ['', 'status=delivered', 'status=failed', 'status=pending']),
    ...pagesOf(approvals),
    ...(isAdmin ? pagesOf(keys) : []),
  ]
}

function fileQuestions(counts: RowCounts, isAdmin: boolean): Question[] {
  const count = otherRows(counts)
  // A caller's rows, and those of tenant `default`, have numbers like this one.
  const rowAt = (share: number) => Math.floor((count * share) / 10_000) * 10_000 + caller * 10
  const idAt = (share: number) => idOf(rowAt(share))
  const artifact = (share: number) => `before=${toOffset([idAt(share), `session-${rowAt(share)}`])}`
  const lists = pagesOf({ name: 'artifacts', path: '/core/v1/artifacts', isAdmin, middle: artifact(0.5), last: artifact(0.05) })
  const memory = (share: number) => `before=${idAt(share)}`
  const memories = pagesOf({ name: 'memories', path: '/core/v1/memories', isAdmin: false, middle: memory(0.5), last: memory(0.05) })
  const after = (share: number) => `after=file-${idAt(share)}`
  const uploads = { name: 'uploads', path: '/v1/files', isAdmin, middle: after(0.5), last: after(0.05) }
  const orders = [
    'limit=100',
    'limit=100&order=asc',
    'limit=100&purpose=user_data',
    'limit=100&purpose=vision',
    'limit=100&purpose=vision&order=asc',
  ]
  const document = (share: number) => `before=${toOffset([idOf(Math.floor((count / 100) * share))])}`
  const documents = { name: 'documents', path: '/core/v1/knowledge', isAdmin, middle: document(0.5), last: document(0.05) }
  return [...lists, ...(isAdmin ? pagesOf(documents) : memories), ...pagesOf(uploads, orders)]
}

function reportQuestions(counts: RowCounts, now: number): Question[] {
  // Tenant `default` has 70 % of the runs.
  const count = Math.floor(counts.runs * 0.7)
  const middle = timeAt(0.5, now)
  const day = `start_timestamp=${middle}&end_timestamp=${middle + 86_400_000}`
  const list = { path: '/core/v1/logs', isAdmin: true }
  const offsets = (rows: number) => ({ middle: `offset=${Math.floor(rows / 2)}`, last: `offset=${Math.max(0, rows - 20)}` })
  const single = (group: string, path: string): Question => ({ group, filter: '', page: '', path, isAdmin: true })
  return [
    ...pagesOf({ ...list, name: 'logs', ...offsets(count) }, ['limit=20', 'limit=20&run_id=request-70']),
    ...pagesOf({ ...list, name: 'logs of one day', ...offsets(Math.floor(count / 365)) }, [`limit=20&${day}`]),
    single('metrics of all time', '/core/v1/metrics'),
    single('metrics of one day', `/core/v1/metrics?${day}`),
  ]
}
