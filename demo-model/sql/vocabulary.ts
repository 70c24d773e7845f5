import { claim, claimWhere, findPhrase, phrases, takePhrase } from '../language/phrases.ts'
import { isStopWord, setOf, type Word } from '../language/words.ts'
import { revenueWords, stockPhrases } from './mentions.ts'
import type { Query } from './query.ts'
import { hasRevenue, isStock, mainMeasure, nameIsRow, pieceMeasure, priceMeasure, quoteName, stemsOfName, type Column } from './tables.ts'

/** The words of figures, with their effect on a query. Each row claims its words. */

const growth =
  'go up or down|went up or down|up or down|go up|go down|went up|went down|growth rate|growth|grow|grew|grown|growing|increase|increased|decrease|' +
  'decreased|change|changed|decline|declined|rise|risen|rose|drop|dropped|fall|fell|shrink|shrank|year over year|month over month'

const figures: [names: string, set: (query: Query) => void][] = [
  [growth, (query) => (query.compares = 'growth')],
  ['difference|differ|how much more|how many more|how much less|how many fewer', (query) => (query.compares ??= 'difference')],
  ['compare|compared to|compared with|comparison|by how much|by how many percent', () => {}],
  ['on average|average|mean|avg|typical|typically', (query) => (query.aggregate ??= 'avg')],
  ['median', (query) => (query.aggregate ??= 'median')],
  ['how many|number of|count of|count|how often|often', (query) => (query.aggregate ??= 'count')],
  ['in total|total|totals|sum|overall|altogether|combined|together|all together|in all', (query) => (query.aggregate ??= 'sum')],
  ['what share|share|percentage|percent|proportion|what fraction|fraction|what part', (query) => (query.share = true)],
]
const descending =
  'highest|largest|biggest|busiest|most|most popular|maximum|max|best|top|greatest|strongest|priciest|most expensive|expensive|leading|longest|best selling|bestseller|' +
  'bestsellers|more|better|higher|dearer|dearest|bigger|larger|dear|richest'
const ascending =
  'lowest|smallest|least|least popular|minimum|min|worst|fewest|weakest|bottom|poorest|cheapest|least expensive|shortest|less|fewer|lower|cheaper|smaller|worse|cheap|slowest'
const newest = 'latest|newest|most recent|recent|last'
const oldest = 'oldest|earliest|longest standing|first'
/** Rankings by word: the order, and whether it is by time. */
const rankings = new Map(
  [descending, ascending, newest, oldest].flatMap((names, at) =>
    names.split('|').map((name) => [name, { order: at % 2 === 0 ? 'DESC' : 'ASC', byTime: at > 1 } as const]),
  ),
)
const ranked = [...rankings.keys()]
const places = phrases(
  [...ranked.flatMap((word) => [`${word} #`, `# ${word}`]), '# rows', 'first # rows', 'which #', 'what #', 'our #', 'the #'].join('|'),
)
const orders = phrases(ranked.filter((word) => word !== 'last' && word !== 'first').join('|'))
const lists = phrases(
  'list|show|display|give me|read me|print|which|who|what are|what|see|name|find|get|look up|are there any|is there any|do we have any|all',
)
/** Verbs and nouns that say nothing about which rows or figures are meant. */
const light = new Set(
  (
    'hm hmm well how oh um place placed places come came go went live lives located based happen happened currently current ever exist exists data table ' +
    'tables file figures figure numbers record records entries entry rows row transactions transaction euro euros eur € $ £ pounds dollars values value ' +
    'details info information company business people person overview breakdown split broken down different distinct unique only just same one ones bring ' +
    'brought generate generated achieve achieved perform performed performing performance result results say calculate compute question far right now please ' +
    'hello hi hey thanks thank exactly there do per entire whole system database listed registered recorded is it they them those these that ours own owns ' +
    'class classes break comes still gets anything everything anyone left list used so kind type types included including include versus vs against find see ' +
    'look check wonder wondering curious interested think today store shop work works cost costs offer sort sorted ordered rank ranked ranking joined ' +
    'join signed registered became started created take takes took taken belong belongs called named name id number anybody somebody someone quick method already yet still worth popular enough'
  ).split(' '),
)
/** Verbs of buying mean the rows of a table with revenue, or of orders; elsewhere they ask for what the table does not have. */
const buying = setOf('buy buys bought order ordered orders purchase purchased purchases pieces items item')

export function readFigureWords(query: Query, words: readonly Word[]): void {
  // "The phone number of Jo" counts nothing.
  const texts = new Set(
    query.tables.flatMap(({ columns }) => columns.flatMap(({ name, kind }) => (kind === 'text' ? stemsOfName(name) : []))),
  )
  claimWhere(words, 'light', ({ lower }, at) => lower === 'number' && texts.has(words[at - 1]?.stem ?? ''))
  for (const [names, set] of figures) if (takePhrase(words, phrases(names))) set(query)
  if (query.compares) takePhrase(words, phrases('how much'))
  if (hasRevenue(query.table) && findPhrase(words, phrases('what did we|what did you|what have we|make|made'))) query.aggregate ??= 'sum'
  // "How much is the kettle?" asks for a price where there is no revenue.
  if ((hasRevenue(query.table) || !priceMeasure(query.table)) && takePhrase(words, phrases('how much'))) query.aggregate ??= 'sum'
  const placePhrase = takePhrase(words, places)
  const count = placePhrase?.words.find(({ lower }) => /^\d+$/.test(lower))
  if (count) query.limit = Number(count.lower)
  const rank = rankings.get(placePhrase?.phrase.replace('# ', '').replace(' #', '') ?? '')
  const word = takePhrase(words, orders)
  const ranking = rank ?? rankings.get((word ?? takePhrase(words, phrases('last|first')))?.phrase ?? '')
  if (ranking) Object.assign(query, ranking)
  if (hasRevenue(query.table) && takePhrase(words, phrases('bring in|brings in|brought in|bring us|brings us|brought us'), 'measure')) {
    if (!query.order) query.aggregate ??= 'sum'
    pushOnce(query.measures, mainMeasure(query.table)!)
  }
  const list = findPhrase(words.slice(0, 5), lists) ?? findPhrase(words.slice(0, 1), phrases('any'))
  query.rows = list !== undefined && query.aggregate !== 'count' && query.aggregate !== 'sum'
  claim(list?.words.filter(({ lower }) => !isStopWord(lower)) ?? [], 'phrase')
}

/** A copy of a word for phrases whose words another reader may have claimed. */
function asUnused({ text, lower, stem }: Word): Word {
  return { text, lower, stem }
}

const priceWords = setOf('expensive cheap cheapest priciest dear dearer dearest cheaper')

/** Adds measures implied by words: prices by "cheap", quantities by "how many ... sold", money by "sales". */
export function readImplied(query: Query, words: readonly Word[], namesNumber: boolean): void {
  const { table } = query
  const has = (names: string) => words.some(({ lower }) => names.split(' ').includes(lower))
  const price = priceMeasure(table)
  const isCheap = words.some(({ lower, use }) => use !== undefined && priceWords.has(lower))
  const asksPrice = isCheap || (!hasRevenue(table) && takePhrase(words, phrases('price|prices|cost|costs|how much')) !== undefined)
  if (price && asksPrice && !namesNumber) pushOnce(query.measures, price)
  const isSold = query.aggregate === 'count' && has('sold sell sells bought buy ordered') && !has('different distinct unique')
  const pieces = isSold || (query.order && has('pieces')) ? pieceMeasure(table) : undefined
  const main = mainMeasure(table)
  const money = words.filter(({ lower, use }) => revenueWords.has(lower) && (use === undefined || use === 'table'))
  if (pieces) pushOnce(query.measures, pieces)
  // "How many were sold, and for how much?" asks for both.
  if (pieces && main && findPhrase(words.map(asUnused), phrases('how much'))) pushOnce(query.measures, main)
  // "Compare the regions" compares their revenue.
  if (main && hasRevenue(table) && has('compare comparison') && query.aggregate !== 'count' && !namesNumber) pushOnce(query.measures, main)
  if (money.length === 0 || (!hasRevenue(table) && !pieces)) return
  for (const word of money) word.use ??= 'measure'
  const asksRows = (query.rows && query.numbers.length > 0) || has('rows records entries transactions')
  if (main && !pieces && query.aggregate !== 'count' && !asksRows && !namesNumber) pushOnce(query.measures, main)
}

/** Conditions on the column of the stock, if there is such a column. */
export function readStock(query: Query, words: readonly Word[]): void {
  const column = query.table.columns.find(({ name }) => /stock|inventory|available/i.test(name))
  if (!column) return
  const isNumber = column.kind === 'number'
  const out = takePhrase(words, phrases('out of stock|not in stock|sold out|unavailable|not available|no stock'))
  const phrase = out ?? takePhrase(words, phrases('in stock|available|on stock|how many pieces|pieces of'))
  if (!phrase) return
  // "How many are in stock?" asks for the number, "which are in stock?" for the rows.
  const asksNumber = isNumber && !out && (phrase.phrase.includes('pieces') || takePhrase(words, phrases('how many|how much')))
  if (asksNumber) return pushOnce(query.measures, column)
  const sql = isNumber ? `${quoteName(column.name)} ${out ? '<= 0' : '> 0'}` : `${quoteName(column.name)} = ${out ? 'false' : 'true'}`
  query.conditions.set(column.name, { sql, column, isSingle: false, text: phrase.phrase })
}

/** "Do we still have the kettle?": of a single product the question asks for the stock. */
export function readStockOfOne(query: Query, words: readonly Word[]): void {
  const { table, measures, conditions, columns } = query
  const stock = table.columns.find(isStock)
  const isOne = [...conditions.values()].some(({ column, isSingle }) => isSingle && nameIsRow(table, column))
  const asks = findPhrase(words.map(asUnused), stockPhrases)
  if (!stock || !isOne || !asks || measures.length > 0 || columns.length > 0) return
  measures.push(stock)
  delete query.aggregate
}

/** Claims words without a meaning for the query, once all others have been read. */
export function claimLightWords(words: readonly Word[], { table }: Query): void {
  takePhrase(words, phrases('since when'), 'light')
  const isBought = hasRevenue(table) || /order/i.test(table.name) || table.columns.some(({ name }) => /stock/i.test(name))
  for (const word of words) if (light.has(word.lower) || (isBought && buying.has(word.lower))) word.use ??= 'light'
}

export function pushOnce(columns: Column[], column: Column): void {
  if (!columns.some(({ name }) => name === column.name)) columns.push(column)
}

/** The words with a meaning in any question about tables, which a mistyped word may stand for. */
export const functionWords: readonly string[] = [
  ...figures.map(([names]) => names),
  ...ranked,
  'which|what|between|before|after|since|compare|month|quarter|year|week|january|february|march|april|june|july|august|september|october|november|december',
  [...revenueWords].join('|'),
].flatMap((names) => names.split(/[| ]/))
