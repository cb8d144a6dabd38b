/**
 * A router: a tree of path segments. At every depth, a literal segment takes precedence over a
 * parameter, and there is no fallback. For example, a request to `/presets/default` never matches
 * `/presets/{id}`, even if only the latter has the request's method.
 */

interface Leaf<T> {
  readonly value: T
  readonly names: readonly string[]
}

interface Node<T> {
  readonly literals: Map<string, Node<T>>
  parameter: Node<T> | null
  readonly methods: Map<string, Leaf<T>>
}

export interface RouteMatch<T> {
  readonly value: T
  /** A new object for each look-up, so the caller may change it. */
  readonly params: Record<string, string>
}

/** The result for a path that does not have the requested method. `allow` lists its methods. */
interface WrongMethod {
  readonly allow: readonly string[]
}

interface Router<T> {
  /** Registers a path such as `/tags/{id}`. Throws if method and path are registered already. */
  add(method: string, path: string, value: T): void
  /**
   * Finds the route for a method and the segments of a path. Returns a WrongMethod if the path has
   * only other methods, and null if there is no such path.
   */
  find(method: string, segments: readonly string[]): RouteMatch<T> | WrongMethod | null
}

const newNode = <T>(): Node<T> => ({ literals: new Map(), parameter: null, methods: new Map() })

export function newRouter<T>(): Router<T> {
  const root = newNode<T>()

  function add(method: string, path: string, value: T): void {
    const names: string[] = []
    let node = root
    for (const segment of path === '/' ? [] : path.slice(1).split('/')) {
      if (segment.startsWith('{')) {
        names.push(segment.slice(1, -1))
        node = node.parameter ??= newNode()
      } else {
        let next = node.literals.get(segment)
        if (next === undefined) node.literals.set(segment, (next = newNode()))
        node = next
      }
    }
    if (node.methods.has(method)) throw new Error(`${method} ${path} is registered already`)
    node.methods.set(method, { value, names })
  }

  function find(method: string, segments: readonly string[]): RouteMatch<T> | WrongMethod | null {
    let node = root
    const values: string[] = []
    for (const segment of segments) {
      const literal = node.literals.get(segment)
      if (literal !== undefined) {
        node = literal
      } else if (node.parameter !== null) {
        values.push(segment)
        node = node.parameter
      } else return null
    }
    if (node.methods.size === 0) return null
    // RFC 9110 section 9.3.2: HEAD is GET without the content.
    const leaf = node.methods.get(method === 'HEAD' ? 'GET' : method)
    if (leaf === undefined) {
      const allow = [...node.methods.keys()]
      return { allow: allow.includes('GET') ? [...allow, 'HEAD'] : allow }
    }
    const params: Record<string, string> = {}
    for (let i = 0; i < values.length; i++) params[leaf.names[i] as string] = values[i] as string
    return { value: leaf.value, params }
  }

  return { add, find }
}
