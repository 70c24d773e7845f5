import type { MarkdownRenderer } from 'vitepress'

/**
 * The words after the language of a code block, such as `file=agent.yaml` and `output`, say how the block is executed when the documentation
 * is checked. Readers see the name of the file, or that the block is an output. Hidden set-up commands are left out.
 */
export function describeCodeBlocks(md: MarkdownRenderer): void {
  md.core.ruler.push('hidden_blocks', (state) => {
    state.tokens = state.tokens.filter(({ type, content }) => type !== 'html_block' || !/^<!--[^]*-->\s*$/.test(content))
  })
  const renderFence = md.renderer.rules.fence!
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index]
    const { language, label, isOutput } = readInfo(token.info)
    token.info = language
    const block = renderFence(tokens, index, options, env, self)
    if (label === undefined) return block
    return `<div class="labelled-code${isOutput ? ' output' : ''}"><p class="code-label">${md.utils.escapeHtml(label)}</p>${block}</div>`
  }
}

/** Parts the text after the backticks: `yaml file=agent.yaml` is YAML, labelled `agent.yaml`. */
export function readInfo(info: string): { language: string; label?: string; isOutput?: boolean } {
  const [language = '', ...words] = info.trim().split(/\s+/)
  const file = words.find((word) => /^(file|merge)=/.test(word))?.replace(/^(file|merge)=/, '')
  if (file !== undefined) return { language, label: file }
  return words.includes('output') ? { language, label: 'Output', isOutput: true } : { language }
}
