import type { MarkdownOptions } from 'vitepress'

/**
 * Colours of code as classes, such as `code-string`; `theme/code.css` has the colours for light and dark. The policy of the pages refuses
 * `style` attributes, which the themes of VitePress need.
 */
const scopesByClass = {
  comment: ['comment', 'punctuation.definition.comment'],
  string: ['string', 'punctuation.definition.string', 'markup.inline.raw'],
  number: ['constant.numeric', 'constant.language', 'constant.character.escape'],
  keyword: ['keyword', 'storage', 'variable.language', 'punctuation.definition.variable.shell'],
  function: ['entity.name.function', 'support.function', 'entity.name.command'],
  key: [
    'entity.name.tag',
    'support.type.property-name',
    'meta.object-literal.key',
    'entity.other.attribute-name',
    'variable.other.normal.shell',
    'entity.name.type',
    'support.type',
    'support.class',
  ],
} as const

const classes = Object.keys(scopesByClass) as (keyof typeof scopesByClass)[]

/** A colour that stands for a class, until the class takes its place. */
function colourOf(index: number): string {
  return `#0000${String(index + 1).padStart(2, '0')}`
}

const theme = {
  name: 'agent-core',
  type: 'light' as const,
  colors: { 'editor.foreground': '#000000', 'editor.background': '#ffffff' },
  settings: classes.map((name, index) => ({ scope: [...scopesByClass[name]], settings: { foreground: colourOf(index) } })),
}

export const highlighting: Pick<MarkdownOptions, 'theme' | 'codeTransformers'> = {
  theme,
  codeTransformers: [
    {
      name: 'agent-core:classes',
      span(node) {
        const { style = '', ...others } = node.properties
        node.properties = others
        const name = classes.find((_, index) => style.includes(colourOf(index)))
        if (name) this.addClassToHast(node, `code-${name}`)
      },
    },
  ],
}
