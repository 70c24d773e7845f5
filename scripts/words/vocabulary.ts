/** Matches a comment that opens with a pronoun or a fronted clause instead of the subject of the sentence. */
export const oddOpening =
  /^(?:Who|Whoever|What|Whatever|Those|Of |One |As whom|As it|So |It |They |Nobody|Somebody|Where |Behind|Beside|Without |With |Between|Not |Nothing|Until |The same|Told|Asked|Made|Kept|Taken|Held|Whose|Whether )/

export const pronoun =
  /\b(?:who|what|those|one|ones|whose|whom|whoever|it|they|them|its|their|that|this|these|nobody|somebody|others|other)\b/gi

/** Matches comments for tools. */
export const directive = /oxlint|eslint|@ts-/

const pronouns =
  'one other others those these each own who whom whose it its they them theirs that what which another some any both either neither same such'
const indefinite = 'nothing nobody somebody everybody anyone everyone something anything everything most more least few many enough'
const prepositions = 'why how of by from beside behind around among about beyond'
const adverbs = 'late left again soon here there elsewhere together alone place'
const participles =
  'told given known found made kept taken asked said was stands standing begun gone looked looking loosing lost held seen wanted unwanted hidden shown tried heard meant thought brought took named'

/** Names without a meaning: they describe neither the value of a variable, parameter or field nor the work of a function. */
export const functionWords: ReadonlySet<string> = new Set([pronouns, indefinite, prepositions, adverbs, participles].join(' ').split(' '))
