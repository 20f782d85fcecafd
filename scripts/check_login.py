#!/usr/bin/env python3
"""The login of the page at an issuer of OpenID Connect, in a real browser: check_login.py SLUICE

The issuer is played here, under another name than the page has, so that the browser comes back from another site. What is looked at is what
only a browser knows: that it keeps the cookies and sends them, that no script sees them, and what the page says. CHROMIUM names the browser.
"""

import base64
import hashlib
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from check_page import browser
from measure_page import Browser

# How long the first token counts, in seconds: until the page says that it has expired.
SHORT = 6
SEEN = """JSON.stringify({
  login: !document.getElementById("issuer").hidden && !document.getElementById("login").hidden,
  session: !document.getElementById("session").hidden, who: document.getElementById("who").textContent,
  text: document.getElementById("main").textContent, hash: location.hash, cookies: document.cookie, address: location.pathname + location.search})"""


def text(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Issuer(http.server.BaseHTTPRequestHandler):
    """Lets everybody in who asks, as Ann."""

    url, key, life, codes = "", None, SHORT, {}

    def do_GET(self):
        parts = urllib.parse.urlparse(self.path)
        asked = dict(urllib.parse.parse_qsl(parts.query))
        if parts.path == "/authorize":
            code = f"code-{len(self.codes)}"
            self.codes[code] = asked
            self.send_response(302)
            self.send_header("location", f"{asked['redirect_uri']}?code={code}&state={asked['state']}")
            self.send_header("content-length", "0")
            self.end_headers()
        elif parts.path == "/keys":
            said = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, capture_output=True, text=True).stdout
            self.say({"keys": [{"kty": "RSA", "kid": "one", "n": text(bytes.fromhex(said.strip().split("=")[1])), "e": "AQAB"}]})
        else:
            self.say({"issuer": self.url, "jwks_uri": f"{self.url}/keys", "authorization_endpoint": f"{self.url}/authorize", "token_endpoint": f"{self.url}/token"})

    def do_POST(self):
        sent = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["content-length"])).decode()))
        asked = self.codes[sent["code"]]
        if text(hashlib.sha256(sent["code_verifier"].encode()).digest()) != asked["code_challenge"]:
            return self.say({"error": "invalid_grant"}, 400)
        # More than one cookie holds.
        claims = {"iss": self.url, "aud": "sluice", "sub": "1", "email": "ann@example.com", "exp": int(time.time()) + Issuer.life, "nonce": asked["nonce"], "more": "m" * 5000}
        signed = ".".join(text(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "one"}, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], check=True, input=signed.encode(), capture_output=True).stdout
        return self.say({"id_token": f"{signed}.{text(signature)}"})

    def say(self, value, code=200):
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def wait(one, what, holds):
    """What the page shows, once it shows that."""
    for _ in range(150):
        seen = json.loads(one.run(f"document.getElementById('main') ? {SEEN} : '{{}}'"))
        if seen and holds(seen):
            if seen["cookies"] or "?" in seen["address"]:
                sys.exit(f"check_login: {what}: a script or an address has something: {seen}")
            return seen
        time.sleep(0.1)
    return sys.exit(f"check_login: {what}: the page shows {seen}")


def look(one, page):
    def log_in(what):
        one.run("document.getElementById('go').click()")
        seen = wait(one, what, lambda seen: seen["session"] and not seen["login"])
        if seen["who"] != "ann@example.com" or seen["hash"] != "#/problems" or "token" in seen["text"]:
            sys.exit(f"check_login: {what}: {seen}")

    one.ask("Page.navigate", url=f"{page}#/problems")
    wait(one, "without a token", lambda seen: seen["login"] and not seen["session"])
    log_in("after the login")
    wait(one, "after the token has expired", lambda seen: seen["login"] and "has expired" in seen["text"])
    Issuer.life = 600
    log_in("after another login")
    one.run("document.getElementById('logout').click()")
    wait(one, "after the logout", lambda seen: seen["login"] and not seen["session"])


def main():
    chromium, sluice = browser(), pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as place:
        Issuer.key = f"{place}/key.pem"
        subprocess.run(["openssl", "genrsa", "-out", Issuer.key, "2048"], check=True, capture_output=True)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Issuer)
        Issuer.url = f"http://localhost:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Issuer) as free:
            port = free.server_port
        page = f"http://127.0.0.1:{port}/ui/"
        command = [sluice, "inspect", "--ui", "--listen", f"127.0.0.1:{port}", "--authenticate", "oidc", "--oidc-issuer", Issuer.url,
                   "--oidc-client-id", "sluice", "--oidc-page-url", page, "--nats-url", "nats://127.0.0.1:1"]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        one = Browser(chromium, place)
        try:
            service.stdout.readline()
            look(one, page)
        finally:
            for process in (one.process, service):
                process.terminate()
                process.wait(30)
    print("login: in, expired, in again and out")


if __name__ == "__main__":
    main()
