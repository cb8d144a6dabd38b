/** A new daemon with a token and one connection, and the text of requests to it. */

/**
 * Creates a token and a connection at a daemon that listens.
 * @returns `get` returns the text of a request with the token, as bytes of HTTP/1.1; `code` is that
 *   for the words of the connection
 */
export async function oneConnection(port: number) {
  const post = async (path: string, body: object, token?: string) => {
    const headers = {
      'Content-Type': 'application/json',
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    }
    const sent = { method: 'POST', headers, body: JSON.stringify(body) }
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, sent)
    return (await answer.json()) as Record<string, string>
  }
  const { token = '' } = await post('/api/v1/token', { name: 'bench', scope: 'full' })
  const { id } = await post('/api/v1/connections', { name: 'Bank' }, token)
  const get = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`
  return { get, code: get(`/api/v1/connections/${id}/code`) }
}
