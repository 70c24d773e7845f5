const easings = ['Quad', 'Cubic', 'Poly', 'Sin', 'Exp', 'Circle', 'Bounce', 'Back', 'Elastic']

/** Functions of Vega that an expression may call. They make a value of their arguments, and read scales and data of their own chart; none writes. */
export const ofVega: ReadonlySet<string> = new Set([
  ...['random', 'cumulativeNormal', 'cumulativeLogNormal', 'cumulativeUniform', 'densityNormal', 'densityLogNormal', 'densityUniform'],
  ...['quantileNormal', 'quantileLogNormal', 'quantileUniform', 'sampleNormal', 'sampleLogNormal', 'sampleUniform'],
  ...['isArray', 'isBoolean', 'isDate', 'isDefined', 'isNumber', 'isObject', 'isRegExp', 'isString', 'isTuple', 'isValid'],
  ...['toBoolean', 'toDate', 'toNumber', 'toString'],
  ...[
    'indexof',
    'join',
    'lastindexof',
    'replace',
    'reverse',
    'sort',
    'slice',
    'flush',
    'lerp',
    'interpolateLinear',
    'merge',
    'pad',
    'peek',
  ],
  ...['pluck', 'span', 'inrange', 'truncate', 'sequence', 'extent', 'clampRange', 'bandspace'],
  ...['rgb', 'lab', 'hcl', 'hsl', 'luminance', 'contrast'],
  ...['format', 'utcFormat', 'utcParse', 'utcOffset', 'utcSequence', 'timeFormat', 'timeParse', 'timeOffset', 'timeSequence'],
  ...['timeUnitSpecifier', 'monthFormat', 'monthAbbrevFormat', 'dayFormat', 'dayAbbrevFormat', 'quarter', 'utcquarter', 'week', 'utcweek'],
  ...['isoweek', 'utcisoweek', 'dayofyear', 'utcdayofyear'],
  ...['panLinear', 'panLog', 'panPow', 'panSymlog', 'zoomLinear', 'zoomLog', 'zoomPow', 'zoomSymlog'],
  ...['easeLinear', ...easings.flatMap((name) => ['', 'In', 'Out', 'InOut'].map((part) => `ease${name}${part}`))],
  ...['bandwidth', 'copy', 'domain', 'range', 'invert', 'scale', 'gradient', 'pathShape'],
  ...['geoArea', 'geoBounds', 'geoCentroid', 'geoShape', 'geoScale', 'geoTranslate'],
  ...['data', 'indata', 'treePath', 'treeAncestors'],
  ...['vlSelectionTest', 'vlSelectionIdTest', 'vlSelectionResolve', 'vlSelectionTuples'],
  ...['screen', 'containerSize', 'windowSize'],
])

/**
 * Functions that write to data, or reach what is drawn. Vega-Lite writes them into what a selection does when somebody clicks; in a picture nobody does, so
 * a chart with selections is drawn, and an expression that is evaluated fails.
 */
export const ofViews: ReadonlySet<string> = new Set([
  ...['modify', 'setdata', 'encode', 'warn', 'info', 'debug', 'inScope', 'intersect', 'intersectLasso', 'lassoAppend', 'lassoPath'],
  ...['pinchDistance', 'pinchAngle'],
])
