import { Visitor, type BindingPattern, type ParamPattern, type Program, type PropertyKey, type Span } from 'oxc-parser'

interface DeclaredName {
  name: string
  start: number
}

/** Lists the declared names of a program (variables, parameters, functions, methods, fields) and the spreads of object literals. */
export function collectSyntax(program: Program): { names: DeclaredName[]; spreads: Span[] } {
  const names: DeclaredName[] = []
  const spreads: Span[] = []
  const addKey = ({ computed, key }: { computed: boolean; key: PropertyKey }) => {
    if (!computed && key.type === 'Identifier') names.push(key)
  }
  const addParameters = ({ params }: { params: readonly ParamPattern[] }) => {
    for (const parameter of params) names.push(...boundNames(parameter))
  }
  const addFunction = ({ id, params }: { id: DeclaredName | null; params: readonly ParamPattern[] }) => {
    if (id) names.push(id)
    addParameters({ params })
  }
  new Visitor({
    VariableDeclarator: ({ id }) => void names.push(...boundNames(id)),
    CatchClause: ({ param }) => void (param && names.push(...boundNames(param))),
    FunctionDeclaration: addFunction,
    TSDeclareFunction: addFunction,
    FunctionExpression: addParameters,
    ArrowFunctionExpression: addParameters,
    TSEmptyBodyFunctionExpression: addParameters,
    TSFunctionType: addParameters,
    TSConstructorType: addParameters,
    TSCallSignatureDeclaration: addParameters,
    TSConstructSignatureDeclaration: addParameters,
    TSIndexSignature: ({ parameters }) => void names.push(...parameters),
    TSPropertySignature: addKey,
    TSMethodSignature(signature) {
      if (signature.kind === 'method') addKey(signature)
      addParameters(signature)
    },
    PropertyDefinition: addKey,
    TSAbstractPropertyDefinition: addKey,
    MethodDefinition(definition) {
      if (definition.kind === 'method') addKey(definition)
    },
    TSAbstractMethodDefinition: addKey,
    Property(property) {
      if (property.type === 'Property' && property.method) addKey(property)
    },
    SpreadElement({ start, end, argument }) {
      if (argument.type === 'ObjectExpression') spreads.push({ start, end })
    },
  }).visit(program)
  return { names, spreads }
}

/** The variables that a pattern such as `{ a, b: [c, ...d] }` declares. */
function boundNames(pattern: BindingPattern | ParamPattern): DeclaredName[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern]
    case 'AssignmentPattern':
      return boundNames(pattern.left)
    case 'RestElement':
      return boundNames(pattern.argument)
    case 'TSParameterProperty':
      return boundNames(pattern.parameter)
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element ? boundNames(element.type === 'RestElement' ? element.argument : element) : []))
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) => boundNames(property.type === 'RestElement' ? property.argument : property.value))
  }
}
