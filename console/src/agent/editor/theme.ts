import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

/** Colours with enough contrast in light and dark; they follow `color-scheme`, which Mantine sets. */
const highlighting = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'light-dark(#2c3d97, #9aaaf1)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'light-dark(#1a6a39, #8fd6a5)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'light-dark(#9a4a00, #f0b37e)' },
  { tag: tags.comment, color: 'light-dark(#5a6372, #9aa1b0)' },
  { tag: [tags.keyword, tags.labelName, tags.typeName], color: 'light-dark(#7a2f8f, #d9a3ea)' },
  { tag: [tags.punctuation, tags.separator, tags.bracket, tags.meta], color: 'light-dark(#5a6372, #9aa1b0)' },
])

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '13px', color: 'var(--mantine-color-text)', backgroundColor: 'var(--mantine-color-body)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--mantine-color-text)', padding: '8px 0' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--mantine-color-text)' },
  '.cm-gutters': { color: 'light-dark(#5a6372, #9aa1b0)', backgroundColor: 'var(--surface)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'light-dark(rgba(86, 110, 227, 0.05), rgba(129, 148, 238, 0.06))' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--surface-strong)', color: 'var(--mantine-color-text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'light-dark(#d3dafa, #33406f)',
  },
  '.cm-foldPlaceholder': { padding: '0 6px', border: 0, color: 'inherit', backgroundColor: 'var(--surface-strong)' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: '8px',
    overflow: 'hidden',
    color: 'var(--mantine-color-text)',
    backgroundColor: 'var(--mantine-color-body)',
    boxShadow: '0 4px 18px rgba(0, 0, 0, 0.16)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mantine-font-family-monospace)', maxHeight: '16em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { color: 'var(--accent-text)', backgroundColor: 'var(--accent-soft)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionDetail': { color: 'var(--mantine-color-dimmed)', fontStyle: 'normal' },
  '.cm-completionInfo': { maxWidth: '320px', padding: '8px 10px', fontFamily: 'var(--mantine-font-family)' },
  '.cm-diagnostic': { padding: '6px 10px', fontSize: '13px', maxWidth: '480px', overflowWrap: 'anywhere' },
  '.cm-field': { maxWidth: '420px', padding: '8px 10px', fontSize: '13px' },
  '.cm-panels': { color: 'var(--mantine-color-text)', backgroundColor: 'var(--surface)', borderColor: 'var(--line)' },
  '.cm-panel.cm-search': { padding: '8px 28px 8px 10px' },
  '.cm-panel.cm-search input, .cm-panel.cm-search button, .cm-panel.cm-search label': { fontSize: '13px' },
  '.cm-textfield': { border: '1px solid var(--line)', backgroundColor: 'var(--mantine-color-body)' },
  '.cm-button': { border: '1px solid var(--line)', backgroundColor: 'var(--surface-strong)', backgroundImage: 'none', color: 'inherit' },
})

export const editorTheme = [look, syntaxHighlighting(highlighting)]
