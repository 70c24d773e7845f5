import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { ImageFilter } from './image-filter.ts'
import { maxHeld } from './piece-reader.ts'

const hosts = ['api.example.com']

function filtered(pieces: readonly string[]): string {
  const filter = new ImageFilter(hosts)
  const shown = pieces.map((piece) => filter.take(piece)).join('') + filter.end()
  assert.equal(filter.text, shown)
  return shown
}

const strip = (text: string) => filtered([text])

/** The texts, and what is left of each. */
const cases: [text: string, expected: string][] = [
  ['Total: ![chart](http://evil.test/?d=4711) is up.', 'Total: chart is up.'],
  ['![chart](https://evil.test/a(b)c "A title") end', 'chart end'],
  ["![chart]( <https://evil.test/a b> 't' ) end", 'chart end'],
  ['![](//evil.test/x)', 'image'],
  ['![a](HTTPS:evil.test/x)', 'a'],
  ['![a](h&#116;tp://evil.test/x)', 'a'],
  ['![a](/\\evil.test/x)', 'a'],
  ['![a](\n  http://evil.test/x\n)', 'a'],
  ['Wow![a](http://evil.test/x)', 'Wow a'],
  ['[![alt](http://evil.test/x.png)](http://evil.test/)', '[alt](http://evil.test/)'],
  ['![a ![b](http://evil.test/1) c](http://evil.test/2)', 'a b c'],
  ['![a [b](http://evil.test/1) c](http://evil.test/2)', 'a b c'],
  ['![chart][one]\n\n[one]: http://evil.test/x', 'chart\n\n'],
  ['![chart][]', 'chart'],
  ['![chart]\n\n[chart]: http://evil.test/x "T"', '![chart]\n\n "T"'],
  ['[chart]: http://evil.test/x\n\n![chart]', '[chart]: http://evil.test/x\n\nchart'],
  ['[a]: http://evil.test/x\n![a](', '[a]: http://evil.test/x\na('],
  ['[a]: http://evil.test/x\n![a](/b "c', '[a]: http://evil.test/x\na(/b "c'],
  ['![a](/b\n\n[a]: http://evil.test/x', '![a](/b\n\n'],
  ['<img src="http://evil.test/x" alt="A cat">', 'A cat'],
  ["a<IMG\nsrc='http://evil.test/x'/>b", 'a imageb'],
  ['<picture><source srcset="//evil.test/x"><img src="/own.png"></picture>', '<picture>image<img src="/own.png"></picture>'],
  ['![a](http://evil.test/never closed', 'a closed'],
  ['![a](http://evil.test/x junk) b', 'a junk) b'],
]

/** Texts that stay as they are. */
const kept = [
  'No picture! [A link](http://evil.test/x) and <http://evil.test/x> stay.',
  '![chart](/core/v1/artifacts/1?sig=a&b=c "Chart") and [docs](http://docs.test/x)',
  '![chart](chart.png)',
  '![chart](https://api.example.com/x.png)',
  '![chart](//api.example.com/x.png)',
  '![dot](data:image/png;base64,iVBORw0KGgo=)',
  '<img src="chart.png" alt="Chart" width="20"> <b>x</b> a < b, Array<string>',
  'let v = vec![1, 2]; foo![0][key!]',
  '[docs]: http://docs.test/x\n\nSee [docs].',
  'type T = { [key: string]: string }',
  '![draft',
  'Really?![',
]

test('pictures of foreign hosts are replaced by their text', () => {
  for (const [text, expected] of cases) assert.equal(strip(text), expected, text)
})

test('own pictures, links and code stay', () => {
  for (const text of kept) assert.equal(strip(text), text, text)
})

test('a picture that holds its bytes stays, however long', () => {
  const text = `a ![dot](data:image/png;base64,${'A'.repeat(3 * maxHeld)}) b`
  assert.equal(strip(text), text)
})

test('of a text without end, at most the bound is held back', () => {
  for (const opening of [
    '![',
    '![a](http://evil.test/',
    '![a](<http://evil.test/',
    '<img ',
    '![a][',
    '![a](',
    ']: http://a.test/',
    '![![',
  ]) {
    const filter = new ImageFilter(hosts)
    let [given, shown] = [0, 0]
    for (const piece of [opening, ...Array.from({ length: 60 }, () => 'x'.repeat(500))]) {
      given += piece.length
      shown += filter.take(piece).length
      // A foreign address is dropped, not held.
      if (!opening.includes('](')) assert.ok(given - shown <= maxHeld + 500, `${opening}: ${given - shown}`)
    }
    filter.end()
    assert.ok(!/!\[.*\]\(.*evil/s.test(filter.text), opening)
  }
})

const words = [
  '![',
  '[',
  ']',
  '(',
  ')',
  '](',
  '][',
  ']:',
  ':',
  '!',
  'a',
  'b',
  ' ',
  '\n',
  '\n\n',
  '`',
  '\\',
  '<',
  '>',
  '"',
  "'",
  '*',
  '- ',
  '> ',
  '|',
  '&lt;',
  '/',
  '//',
  '/own.png',
  'evil.test',
  'http:',
  'http://evil.test/x',
  'http://api.example.com/y',
  '(http://evil.test/x)',
  '(<http://evil.test/x>)',
  '![a](http://evil.test/x)',
  '![b](/own.png)',
  '[a]: http://evil.test/x\n',
  '\n\n[b]: <http://evil.test/x>\n',
  '![a]',
  '![a][b]',
  '<img src=',
  '<img src="http://evil.test/x">',
  '<img src=http://evil.test/x alt="',
  'img',
  'src=',
  '=',
  '\t',
  '```\n',
  '$',
  '<!--',
  '-->',
  '<b title="',
  '">',
]
const markdown = fc.array(fc.constantFrom(...words), { maxLength: 24 }).map((parts) => parts.join(''))

test('a text gives the same result in all pieces', () => {
  for (const text of [...cases.map(([input]) => input), ...kept]) {
    const whole = strip(text)
    assert.equal(filtered(text.split('')), whole, text)
    for (let at = 0; at <= text.length; at++) assert.equal(filtered([text.slice(0, at), text.slice(at)]), whole, text)
  }
  const pieces = fc.array(
    fc.array(fc.constantFrom(...words), { maxLength: 5 }).map((parts) => parts.join('')),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(pieces, (parts) => {
      assert.equal(filtered(parts), strip(parts.join('')))
      assert.equal(filtered(parts.join('').split('')), strip(parts.join('')))
    }),
    { numRuns: 2000 },
  )
})

test('what is left has no picture of a foreign host, as a parser of Markdown reads it', () => {
  fc.assert(
    fc.property(markdown, (text) => {
      const shown = strip(text)
      assert.deepEqual(foreignPictures(shown), [], shown)
    }),
    { numRuns: 5000 },
  )
})

test('a text without foreign pictures and definitions stays as it is', () => {
  const harmless = words.filter((word) => !/evil|http|img|\/\/|\]:|:/.test(word))
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...harmless), { maxLength: 24 }), (parts) => {
      const text = parts.join('')
      if (!/!\[[^]*\]\[|!\[[^]*\]\(/.test(text)) assert.equal(strip(text), text)
    }),
    { numRuns: 2000 },
  )
})

test('the time for a text grows with its length alone', () => {
  for (const part of ['![', '![a](', '![a]', '<img ', ']: ', '![a](http://evil.test/x)', '![a](/x', '](http://evil.test/', '[', '![[[](']) {
    const timeOf = (count: number) => {
      const text = part.repeat(count)
      const times = [1, 2, 3].map(() => {
        const startedAt = performance.now()
        strip(text)
        return performance.now() - startedAt
      })
      return Math.min(...times)
    }
    const [short, long] = [timeOf(5000), timeOf(50_000)]
    assert.ok(long < 40 * short + 500, `${part}: ${short} ms, then ${long} ms`)
  }
})

interface Node {
  type: string
  url?: string
  value?: string
  identifier?: string
  children?: Node[]
}

/** The addresses of foreign hosts that a client loads. */
function foreignPictures(text: string): string[] {
  const tree = fromMarkdown(text) as Node
  const nodes: Node[] = []
  const visit = (node: Node) => {
    nodes.push(node)
    node.children?.forEach(visit)
  }
  visit(tree)
  const definitions = new Map(
    nodes
      .filter(({ type }) => type === 'definition')
      .map((node) => [node.identifier, node.url])
      .toReversed() as [string, string][],
  )
  const addresses = nodes.flatMap(({ type, url, identifier = '', value = '' }) => {
    if (type === 'image') return [url ?? '']
    if (type === 'imageReference') return [definitions.get(identifier) ?? '']
    if (type === 'html')
      return [...value.matchAll(/<im(?:g|age)[\s/][^>]*?src\s*=\s*["']?([^\s"'>]*)/gi)].map(([, address = '']) => address)
    return []
  })
  return addresses.filter((address) => {
    const url = URL.parse(address, 'https://service.invalid/chat/')
    return url?.protocol !== 'data:' && url !== null && !['service.invalid', 'api.example.com'].includes(url.host)
  })
}
