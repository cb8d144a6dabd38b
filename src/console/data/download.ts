/** Saves a text that the page made as a file. Nothing is sent. */
export function saveTextFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser reads the file after this task.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
